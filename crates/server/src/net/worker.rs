//! A worker: one thread, its connections, and what they share.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use foldhash::fast::RandomState;
use tokio::sync::{Barrier, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::acceptor::Incoming;
use super::pool::Pool;

/// How long it may take to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// The part of it that connections may take to finish. The rest is for the store.
const CONNECTIONS_TIMEOUT: Duration = Duration::from_secs(4);
/// The part of it that connections and the store may take. Then what is lost is logged.
const STORE_TIMEOUT: Duration = Duration::from_millis(4_900);
/// An output buffer that has grown beyond this is not kept.
const MAX_KEPT_BYTES: usize = 256 * 1024;

/// What the connections of one thread share.
pub(crate) struct Worker {
    id: usize,
    /// Output buffers. A connection has one only while it has something to send.
    output: Pool<Vec<u8>>,
    /// How to wake each connection when the server stops.
    wakers: RefCell<HashMap<u64, Waker, RandomState>>,
    stopping: Cell<bool>,
}

impl Worker {
    pub(crate) fn new(id: usize) -> Rc<Worker> {
        Rc::new(Worker {
            id,
            output: Pool::default(),
            wakers: RefCell::default(),
            stopping: Cell::new(false),
        })
    }

    /// Returns the number of this worker, counted from 0.
    pub(crate) fn id(&self) -> usize {
        self.id
    }

    /// Returns an empty output buffer.
    pub(crate) fn take_output(&self) -> Vec<u8> {
        self.output.take().unwrap_or_default()
    }

    pub(crate) fn give_back_output(&self, mut output: Vec<u8>) {
        if output.capacity() <= MAX_KEPT_BYTES {
            output.clear();
            self.output.give_back(output);
        }
    }

    /// Registers a connection, so that it is woken when the server stops.
    pub(crate) fn register(self: &Rc<Worker>, number: u64) -> ShutdownRegistration {
        ShutdownRegistration { worker: Rc::clone(self), number, waker: None }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Tells all connections to finish what they are doing and close.
    fn stop(&self) {
        self.stopping.set(true);
        for waker in self.wakers.borrow().values() {
            waker.wake_by_ref();
        }
    }

    /// Serves connections as they come in, until the server stops. The last worker that has finished does what
    /// remains to be done, until the instant that it is passed.
    pub(crate) async fn run<P, S: Future<Output = ()> + 'static>(
        self: Rc<Worker>,
        mut incoming: mpsc::UnboundedReceiver<Incoming<P>>,
        mut stopped: watch::Receiver<bool>,
        exit: Arc<Barrier>,
        serve: impl Fn(Incoming<P>) -> S,
        finish: impl AsyncFnOnce(Instant),
    ) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Some(incoming) = incoming.recv() => {
                    connections.spawn_local(serve(incoming));
                }
                Some(_) = connections.join_next() => {}
                _ = stopped.wait_for(|stopped| *stopped) => break,
            }
        }
        self.stop();
        let begin = Instant::now();
        let all_closed = async { while connections.join_next().await.is_some() {} };
        let _ = timeout_at(begin + CONNECTIONS_TIMEOUT, all_closed).await;
        let end = async {
            if exit.wait().await.is_leader() {
                finish(begin + STORE_TIMEOUT).await;
            }
            // The connection to a remote store may live on this thread, and other workers still need it.
            exit.wait().await;
        };
        let _ = timeout_at(begin + SHUTDOWN_TIMEOUT, end).await;
    }
}

/// Removes the connection from its worker when dropped.
pub(crate) struct ShutdownRegistration {
    worker: Rc<Worker>,
    number: u64,
    /// The waker that the worker has.
    waker: Option<Waker>,
}

impl ShutdownRegistration {
    /// Has the worker wake the connection by this waker when the server stops.
    pub(crate) fn wake_by(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.worker.wakers.borrow_mut().insert(self.number, waker.clone());
            self.waker = Some(waker.clone());
        }
    }
}

impl Drop for ShutdownRegistration {
    fn drop(&mut self) {
        self.worker.wakers.borrow_mut().remove(&self.number);
    }
}
