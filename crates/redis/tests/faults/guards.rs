//! Guards that undo something when a test ends, even if it panics.

use std::sync::atomic::{AtomicBool, Ordering};

use tollgate_fixtures::Server;

/// A server that is paused for as long as this lives.
pub(crate) struct Paused<'s>(&'s Server);

impl<'s> Paused<'s> {
    pub(crate) fn new(server: &'s Server) -> Paused<'s> {
        server.pause();
        Paused(server)
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.0.resume();
    }
}

/// Makes threads stop: otherwise a scope would wait for them forever.
pub(crate) struct StopOnDrop<'s>(pub(crate) &'s AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
