//! What all layers of one node share.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::budget::{self, Budget};
use super::hash::Secret;
use super::write_ids::WriteIds;
use crate::clock::Clock;

/// Longest time until anything is due: longer ones would not fit into an instant.
const MAX_DELAY: Duration = Duration::from_secs(365 * 24 * 3600);

/// This process as one of several on a store.
#[derive(Clone)]
pub(crate) struct Node {
    /// Number of processes that share the store.
    pub(super) nodes: u32,
    /// How long the store may take to answer.
    pub(super) timeout: Duration,
    pub(super) clock: Clock,
    pub(super) secret: Secret,
    pub(super) ids: Arc<WriteIds>,
    /// Maximum bytes of all layers.
    pub(super) max_memory: usize,
    /// The bytes of their tables.
    pub(super) budget: Arc<Budget>,
}

impl Node {
    pub(super) fn new(nodes: u32, timeout: Duration, clock: Clock, max_memory: usize) -> Node {
        let for_tables = max_memory.saturating_sub(budget::for_outages(max_memory));
        let (secret, budget) = (Secret::random(), Arc::new(Budget::new(for_tables)));
        let ids = Arc::new(WriteIds::new(secret));
        Node { nodes, timeout, clock, secret, ids, max_memory, budget }
    }

    /// Returns until when the store may take to answer what is asked now.
    pub(super) fn deadline(&self) -> Instant {
        after(self.timeout)
    }

    /// Waits for what another caller is doing, for as long as the store may take: that caller may be kept from going
    /// on, as a future that is not polled is.
    pub(super) async fn wait(&self, other: impl Future<Output = ()>) {
        let _ = timeout(self.timeout, other).await;
    }

    /// Returns the time of this process, in microseconds.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.clock.now().as_micros()
    }
}

/// Returns the instant after a delay of any length.
pub(super) fn after(delay: Duration) -> Instant {
    Instant::now() + delay.min(MAX_DELAY)
}
