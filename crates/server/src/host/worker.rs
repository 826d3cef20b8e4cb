//! One thread's share of the work: its connections, and what they have in common.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldhash::fast::RandomState;

use crate::engine::Engine;
use crate::host::pool::Pool;
use crate::limits::ConnectionLimits;
use crate::resp::{CommandBatch, LimitCache};

/// What the connections of one thread share.
pub(crate) struct Worker {
    /// Which of the threads it is.
    worker_id: usize,
    engine: Arc<Engine>,
    bounds: ConnectionLimits,
    pub(crate) resp: BufferPool,
    pub(crate) http: BufferPool,
    pub(crate) rates: LimitCache,
    pub(crate) commands: Pool<CommandBatch>,
    /// BufferPool for answers, lent to whoever has some.
    answers: Pool<Vec<u8>>,
    date: RefCell<Date>,
    wakers: RefCell<HashMap<u64, Waker, RandomState>>,
    stopping: Cell<bool>,
}

/// What the connections of one protocol share: buffers to read into. A connection has one only while
/// it is answered, so that those that are quiet cost nothing.
pub(crate) struct BufferPool {
    buffers: Pool<Box<[u8]>>,
    buffer_bytes: usize,
    /// How many bytes of answers may wait to be read.
    pub(crate) max_pending_bytes: usize,
    /// How long a client may leave them unread, or what it says unfinished.
    pub(crate) timeout: Duration,
    /// How long it may say nothing, if that is bounded.
    pub(crate) idle: Option<Duration>,
}

/// How much is read at once. Nobody gets more before they have sent as much.
const USUAL_BYTES: usize = 64 * 1024;
/// BufferPool for more answers than this is not kept.
const MAX_KEPT_BYTES: usize = 256 * 1024;

impl BufferPool {
    /// A buffer that begins with this. It is larger than usual only for what has filled the usual one.
    pub(crate) fn take_buffer(&self, start: &[u8]) -> Box<[u8]> {
        let usual = self.buffer_bytes.min(USUAL_BYTES);
        let (free, bytes) = match start.len() < usual {
            true => (self.buffers.take(), usual),
            false => (None, self.buffer_bytes),
        };
        let mut buffer = free.unwrap_or_else(|| vec![0; bytes].into_boxed_slice());
        if let Some(filled) = buffer.get_mut(..start.len()) {
            filled.copy_from_slice(start);
        }
        buffer
    }

    pub(crate) fn give_back(&self, buffer: Box<[u8]>) {
        if buffer.len() <= USUAL_BYTES {
            self.buffers.give_back(buffer);
        }
    }
}

impl Worker {
    pub(crate) fn new(
        worker_id: usize,
        engine: Arc<Engine>,
        bounds: ConnectionLimits,
    ) -> Rc<Worker> {
        let ConnectionLimits { resp, http } = bounds;
        Rc::new(Worker {
            worker_id,
            engine,
            bounds,
            resp: BufferPool {
                buffers: Pool::default(),
                buffer_bytes: resp.command_bytes,
                max_pending_bytes: resp.max_pending_bytes,
                timeout: resp.timeout,
                idle: None,
            },
            http: BufferPool {
                buffers: Pool::default(),
                buffer_bytes: http.request_bytes(),
                max_pending_bytes: http.max_pending_bytes,
                timeout: http.timeout,
                idle: Some(http.idle),
            },
            rates: LimitCache::default(),
            commands: Pool::default(),
            answers: Pool::default(),
            date: RefCell::default(),
            wakers: RefCell::default(),
            stopping: Cell::new(false),
        })
    }

    /// Which of the threads this is, counted from 0.
    pub(crate) fn id(&self) -> usize {
        self.worker_id
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn bounds(&self) -> &ConnectionLimits {
        &self.bounds
    }

    /// BufferPool for answers, with nothing in it.
    pub(crate) fn take_answers(&self) -> Vec<u8> {
        self.answers.take().unwrap_or_default()
    }

    pub(crate) fn give_back_answers(&self, mut answers: Vec<u8>) {
        if answers.capacity() <= MAX_KEPT_BYTES {
            answers.clear();
            self.answers.give_back(answers);
        }
    }

    /// What day and time it is, as HTTP writes it.
    pub(crate) fn date(&self) -> Rc<str> {
        self.date.borrow_mut().now()
    }

    /// Someone new.
    pub(crate) fn registration(self: &Rc<Worker>, number: u64) -> ShutdownRegistration {
        ShutdownRegistration { worker: Rc::clone(self), number, waker: None }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Has everybody finish what they are at, and leave.
    pub(crate) fn stop(&self) {
        self.stopping.set(true);
        for waker in self.wakers.borrow().values() {
            waker.wake_by_ref();
        }
    }
}

/// The date that was told last. It is written anew only when the second has passed.
#[derive(Default)]
struct Date {
    second: u64,
    text: Rc<str>,
}

impl Date {
    fn now(&mut self) -> Rc<str> {
        let now = SystemTime::now();
        let second = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if self.second != second {
            *self = Date { second, text: httpdate::fmt_http_date(now).into() };
        }
        Rc::clone(&self.text)
    }
}

/// One connection's stay.
pub(crate) struct ShutdownRegistration {
    worker: Rc<Worker>,
    number: u64,
    /// The one that is known at worker.
    waker: Option<Waker>,
}

impl ShutdownRegistration {
    /// How to wake it when the server stops.
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
