//! How states are kept: each key belongs to one of many shards, and a shard keeps its states in hash
//! tables of records under one lock.

pub(super) mod account;
pub(super) mod found_record;
pub(super) mod hash_table;
pub(super) mod key_budget;
pub(super) mod layout;
pub(super) mod lone_leases;
mod long_states;
pub(super) mod memory_budget;
pub(super) mod pause;
pub(super) mod prefetch;
pub(super) mod quota;
pub(super) mod record;
pub(super) mod shard;
mod sweep;
pub(super) mod terms;
mod whole_states;
