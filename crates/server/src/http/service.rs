//! What the HTTP connections of one worker share.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::engine::Engine;
use crate::limits::HttpLimits;
use crate::metrics::OpenConnections;
use crate::net::buffers::{BufferPool, TransportLimits};
use crate::net::worker::Worker;

/// Answers HTTP on one worker.
pub(crate) struct Service {
    pub(super) worker: Rc<Worker>,
    pub(super) engine: Arc<Engine>,
    /// Open connections of all protocols, for the metrics page.
    pub(super) connections: OpenConnections,
    pub(super) limits: HttpLimits,
    pub(super) buffers: Rc<BufferPool>,
    date: RefCell<Date>,
}

impl Service {
    pub(crate) fn new(
        worker: Rc<Worker>,
        engine: Arc<Engine>,
        connections: OpenConnections,
        limits: HttpLimits,
    ) -> Rc<Service> {
        let buffers = Rc::new(BufferPool::new(TransportLimits {
            buffer_bytes: limits.request_bytes(),
            max_pending_bytes: limits.max_pending_bytes,
            timeout: limits.timeout,
            idle: Some(limits.idle),
        }));
        let date = RefCell::default();
        Rc::new(Service { worker, engine, connections, limits, buffers, date })
    }

    /// Returns the current time as the header `date` has it.
    pub(super) fn date(&self) -> Rc<str> {
        self.date.borrow_mut().now()
    }
}

/// The last date that was formatted: it changes once a second.
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
