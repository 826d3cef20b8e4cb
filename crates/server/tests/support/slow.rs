//! A store that keeps whoever asks waiting, until it may answer.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tollgate::{Clock, Decision, MemoryStore, Time};
use tollgate_core::{Apply, Op, Store, StoreError};
use tollgate_server::Server;

use super::policy;

/// A store that says when it is asked, and answers when it may.
struct Slow {
    memory: Arc<MemoryStore>,
    asked: Mutex<Sender<()>>,
    may: Mutex<Receiver<()>>,
}

impl Store for Slow {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        Apply::Pending(Box::pin(async move {
            self.asked.lock().unwrap().send(()).unwrap();
            // Others of the loop have a turn meanwhile.
            while self.may.lock().unwrap().try_recv().is_err() {
                tokio::task::yield_now().await;
            }
            if let Apply::Pending(later) = self.memory.apply(ops, at, out) {
                later.await;
            }
        }))
    }
}

/// A server on such a store: who hears when it is asked, and who lets it answer.
pub(crate) fn server() -> (Server, Receiver<()>, Sender<()>) {
    let (asked, is_asked) = channel();
    let (allow, may) = channel();
    let memory = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
    let store = Slow { memory, asked: Mutex::new(asked), may: Mutex::new(may) };
    let server = Server::builder()
        .store(Arc::new(store))
        .http("127.0.0.1:0".parse().unwrap())
        .threads(1)
        .policy(policy("default", &["gcra 1/s burst 5"]))
        .start()
        .unwrap();
    (server, is_asked, allow)
}
