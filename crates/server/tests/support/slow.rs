//! A store that waits for the test before it responds.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tollgate::{Clock, Decision, MemoryStore, Time};
use tollgate_core::{Apply, Op, Store, StoreError};
use tollgate_server::Server;

use super::policy;

/// A store that reports each call, and responds once the test allows it.
struct SlowStore {
    memory: Arc<MemoryStore>,
    call: Mutex<Sender<()>>,
    resume: Mutex<Receiver<()>>,
}

impl Store for SlowStore {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        Apply::Pending(Box::pin(async move {
            self.call.lock().unwrap().send(()).unwrap();
            // Other tasks of the worker run meanwhile.
            while self.resume.lock().unwrap().try_recv().is_err() {
                tokio::task::yield_now().await;
            }
            if let Apply::Pending(later) = self.memory.apply(ops, at, out) {
                later.await;
            }
        }))
    }
}

/// Creates a server with such a store. The receiver gets a message for each call, and the sender lets one call
/// go on.
pub(crate) fn server() -> (Server, Receiver<()>, Sender<()>) {
    let (call, called) = channel();
    let (resume, resumed) = channel();
    let memory = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
    let store = SlowStore { memory, call: Mutex::new(call), resume: Mutex::new(resumed) };
    let server = Server::builder()
        .store(Arc::new(store))
        .http("127.0.0.1:0".parse().unwrap())
        .threads(1)
        .policy(policy("default", &["gcra 1/s burst 5"]))
        .start()
        .unwrap();
    (server, called, resume)
}
