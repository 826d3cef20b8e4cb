//! One thread's share of the work: its connections, and what they have in common.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use foldhash::fast::RandomState;

use crate::bounds::RespBounds;
use crate::engine::Engine;
use crate::resp::{Commands, Rates};

/// What the connections of one thread share.
pub(crate) struct Loop {
    engine: Arc<Engine>,
    bounds: RespBounds,
    rates: Rates,
    /// Lent to whoever reads.
    buffers: RefCell<Vec<Buffer>>,
    /// Room for answers, lent likewise.
    answers: RefCell<Vec<Vec<u8>>>,
    visitors: RefCell<HashMap<u64, Waker, RandomState>>,
    stopping: Cell<bool>,
}

/// What is read into. A connection has one only while it is answered, so that those that are quiet
/// cost nothing.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) commands: Commands,
}

/// How many buffers are kept for those to come: one is enough where the store answers at once.
const KEPT_BUFFERS: usize = 64;
/// Room for more answers than this is not kept.
const MOST_KEPT_BYTES: usize = 256 * 1024;

impl Loop {
    pub(crate) fn new(engine: Arc<Engine>, bounds: RespBounds) -> Rc<Loop> {
        Rc::new(Loop {
            engine,
            bounds,
            rates: Rates::default(),
            buffers: RefCell::default(),
            answers: RefCell::default(),
            visitors: RefCell::default(),
            stopping: Cell::new(false),
        })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn bounds(&self) -> &RespBounds {
        &self.bounds
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.rates
    }

    /// A buffer that begins with this.
    pub(crate) fn take_buffer(&self, start: &[u8]) -> Buffer {
        let free = self.buffers.borrow_mut().pop();
        let mut buffer = free.unwrap_or_else(|| Buffer {
            bytes: vec![0; self.bounds.command_bytes].into_boxed_slice(),
            commands: Commands::default(),
        });
        if let Some(place) = buffer.bytes.get_mut(..start.len()) {
            place.copy_from_slice(start);
        }
        buffer
    }

    pub(crate) fn give_back(&self, buffer: Buffer) {
        let mut buffers = self.buffers.borrow_mut();
        if buffers.len() < KEPT_BUFFERS {
            buffers.push(buffer);
        }
    }

    /// Room for answers, with nothing in it.
    pub(crate) fn take_answers(&self) -> Vec<u8> {
        self.answers.borrow_mut().pop().unwrap_or_default()
    }

    pub(crate) fn give_back_answers(&self, mut answers: Vec<u8>) {
        let mut free = self.answers.borrow_mut();
        if free.len() < KEPT_BUFFERS && answers.capacity() <= MOST_KEPT_BYTES {
            answers.clear();
            free.push(answers);
        }
    }

    /// Someone new.
    pub(crate) fn visit(self: &Rc<Loop>, number: u64) -> Visit {
        Visit { home: Rc::clone(self), number, waker: None }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Has everybody finish what they are at, and leave.
    pub(crate) fn stop(&self) {
        self.stopping.set(true);
        for waker in self.visitors.borrow().values() {
            waker.wake_by_ref();
        }
    }
}

/// One connection's stay.
pub(crate) struct Visit {
    home: Rc<Loop>,
    number: u64,
    /// The one that is known at home.
    waker: Option<Waker>,
}

impl Visit {
    /// Tells it from all others.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// How to wake it when the server stops.
    pub(crate) fn wake_by(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.home.visitors.borrow_mut().insert(self.number, waker.clone());
            self.waker = Some(waker.clone());
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.home.visitors.borrow_mut().remove(&self.number);
    }
}
