//! Runs a connection without a socket: bytes in, futures that have nothing to wait for.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Passes bytes to `process` as a transport does whose buffer has `capacity` bytes. `process` returns the
/// number of bytes it consumed, or `None` if the connection ends.
pub(crate) fn feed(
    pieces: [&[u8]; 2],
    capacity: usize,
    mut process: impl FnMut(&mut [u8]) -> Option<usize>,
) {
    let mut buffer: Vec<u8> = Vec::new();
    for mut left in pieces {
        while !left.is_empty() {
            let (next, rest) = left.split_at(left.len().min(capacity - buffer.len()));
            assert!(!next.is_empty(), "the buffer is full and nothing was consumed");
            buffer.extend_from_slice(next);
            let Some(consumed) = process(&mut buffer) else { return };
            assert!(consumed <= buffer.len(), "{consumed} of {} bytes consumed", buffer.len());
            buffer.drain(..consumed);
            left = rest;
        }
    }
}

/// Returns the output of a future that is ready at once.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("the future is pending"),
    }
}
