//! What becomes of streams when the server stops.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use tollgate::{Clock, Decision, MemoryStore, Time};
use tollgate_core::{Answered, Op, Store, StoreError};
use tollgate_server::{HttpBounds, Server};

use crate::frames::{DATA, GOAWAY, HEADERS, Raw, get};
use crate::server;
use crate::talk::policy;

#[test]
fn whoever_is_idle_is_told_to_go() {
    let server = server(HttpBounds::default());
    let mut raw = Raw::of(&server);
    raw.is_healthy(1);
    let stopping = thread::spawn(move || server.stop());
    let frames = raw.rest();
    let told: Vec<_> = frames.iter().filter(|frame| frame.kind == GOAWAY).collect();
    assert!(!told.is_empty(), "{frames:?}");
    assert!(told.iter().all(|frame| frame.payload[4..8] == [0; 4]), "no error: {told:?}");
    drop(raw);
    stopping.join().unwrap();
}

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
    ) -> Answered<'a> {
        Answered::Later(Box::pin(async move {
            self.asked.lock().unwrap().send(()).unwrap();
            while self.may.lock().unwrap().try_recv().is_err() {
                tokio::task::yield_now().await;
            }
            if let Answered::Later(later) = self.memory.apply(ops, at, out) {
                later.await;
            }
        }))
    }
}

#[test]
fn what_is_in_flight_is_finished() {
    let (asked, is_asked) = channel();
    let (allow, may) = channel();
    let memory = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
    let store = Slow { memory, asked: Mutex::new(asked), may: Mutex::new(may) };
    let server = Server::builder()
        .store(Arc::new(store))
        .http("127.0.0.1:0".parse().unwrap())
        .loops(1)
        .policy(policy("default", &["gcra 1/s burst 5"]))
        .start()
        .unwrap();
    let mut raw = Raw::of(&server);
    raw.send(&get(1, "/check?key=a&cost=6"));
    is_asked.recv().unwrap();
    let stopping = thread::spawn(move || server.stop());
    // It is told to go, and then it is answered all the same.
    raw.next(GOAWAY);
    allow.send(()).unwrap();
    let head = raw.next(HEADERS);
    assert_eq!(head.stream, 1);
    let body = raw.next(DATA);
    assert!(String::from_utf8_lossy(&body.payload).contains("#quota-exceeded"), "{body:?}");
    raw.rest();
    stopping.join().unwrap();
}
