//! Read buffers, and how long a client may take, for all connections of one protocol on one worker.

use std::time::Duration;

use super::pool::Pool;

/// Size of a read buffer. A connection gets a larger one only after it has filled this.
const USUAL_BYTES: usize = 64 * 1024;

/// How much a connection of one protocol may buffer, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransportLimits {
    /// Maximum size of a read buffer: the longest message of the protocol.
    pub(crate) buffer_bytes: usize,
    /// Maximum number of response bytes that may wait to be sent before no more requests are read.
    pub(crate) max_pending_bytes: usize,
    /// How long a client may take to read responses, or to send the rest of a message.
    pub(crate) timeout: Duration,
}

/// Read buffers for the connections of one protocol. A connection has a buffer only while what it
/// holds is read and answered, so that idle connections need no memory for one.
pub(crate) struct BufferPool {
    pub(crate) limits: TransportLimits,
    buffers: Pool<Box<[u8]>>,
}

impl BufferPool {
    pub(crate) fn new(limits: TransportLimits) -> BufferPool {
        BufferPool { limits, buffers: Pool::default() }
    }

    /// Returns a buffer that begins with `start`.
    pub(crate) fn take(&self, start: &[u8]) -> Box<[u8]> {
        let largest = self.limits.buffer_bytes;
        let usual = largest.min(USUAL_BYTES);
        let (free, bytes) = match start.len() < usual {
            true => (self.buffers.take(), usual),
            false => (None, largest),
        };
        let mut buffer = free.unwrap_or_else(|| vec![0; bytes].into_boxed_slice());
        if let Some(filled) = buffer.get_mut(..start.len()) {
            filled.copy_from_slice(start);
        }
        buffer
    }

    /// Keeps a buffer for the next connection, unless it is larger than usual.
    pub(crate) fn give_back(&self, buffer: Box<[u8]>) {
        if buffer.len() <= USUAL_BYTES {
            self.buffers.give_back(buffer);
        }
    }
}
