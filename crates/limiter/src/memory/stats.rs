//! How full a store is.

/// The memory of one kind, and its share of [`max_memory`](crate::MemoryStoreBuilder::max_memory).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryShare {
    /// Number of bytes in use.
    pub bytes: usize,
    /// Maximum number of bytes.
    pub max: usize,
}

/// How full a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreStats {
    /// Number of states in memory: one for each limit of each key, until it has reset and was swept.
    pub keys: usize,
    /// Maximum number of states in memory.
    pub max_keys: usize,
    /// The memory of states, with their slots.
    pub states: MemoryShare,
    /// The memory of leases.
    pub leases: MemoryShare,
    /// The memory of open reservations.
    pub reservations: MemoryShare,
    /// The memory of operations that are remembered by their ids.
    pub remembered: MemoryShare,
    /// Number of operations so far that found no room and were decided by `when_full`.
    pub rejected: u64,
    /// Number of operations that are remembered by their ids.
    pub ids: usize,
    /// Maximum number of operations that are remembered by their ids.
    pub max_ids: usize,
    /// Number of operations so far that were done and not remembered, because their policy had used up its
    /// share of the memory for ids.
    pub unremembered: u64,
}
