//! What the RESP connections of one worker share.

use std::rc::Rc;
use std::sync::Arc;

use super::parse::CommandBatch;
use super::throttle::LimitCache;
use crate::engine::Engine;
use crate::limits::RespLimits;
use crate::net::buffers::{BufferPool, TransportLimits};
use crate::net::pool::Pool;
use crate::net::worker::Worker;

/// Answers RESP on one worker.
pub(crate) struct Service {
    pub(super) worker: Rc<Worker>,
    pub(super) engine: Arc<Engine>,
    pub(super) limits: RespLimits,
    pub(super) buffers: Rc<BufferPool>,
    /// Limits that came with recent commands.
    pub(super) inline_limits: LimitCache,
    /// Parsed commands, reused so that parsing allocates nothing.
    pub(super) commands: Pool<CommandBatch>,
}

impl Service {
    pub(crate) fn new(worker: Rc<Worker>, engine: Arc<Engine>, limits: RespLimits) -> Rc<Service> {
        let buffers = Rc::new(BufferPool::new(TransportLimits {
            buffer_bytes: limits.command_bytes,
            max_pending_bytes: limits.max_pending_bytes,
            timeout: limits.timeout,
        }));
        let (inline_limits, commands) = (LimitCache::default(), Pool::default());
        Rc::new(Service { worker, engine, limits, buffers, inline_limits, commands })
    }
}
