//! What all layers of one node share.

use std::sync::Arc;

use super::budget::{self, Budget};
use super::hash::Secret;
use super::write_ids::WriteIds;
use crate::clock::Clock;

/// This process as one of several on a store.
#[derive(Clone)]
pub(crate) struct Node {
    /// Number of processes that share the store.
    pub(super) nodes: u32,
    pub(super) clock: Clock,
    pub(super) secret: Secret,
    pub(super) ids: Arc<WriteIds>,
    /// Maximum bytes of all layers.
    pub(super) max_memory: usize,
    /// The bytes of their tables.
    pub(super) budget: Arc<Budget>,
}

impl Node {
    pub(super) fn new(nodes: u32, clock: Clock, max_memory: usize) -> Node {
        let for_tables = max_memory.saturating_sub(budget::for_outages(max_memory));
        let (secret, budget) = (Secret::random(), Arc::new(Budget::new(for_tables)));
        let ids = Arc::new(WriteIds::new(secret));
        Node { nodes, clock, secret, ids, max_memory, budget }
    }

    /// Returns the time of this process, in microseconds.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.clock.now().as_micros()
    }
}
