//! How operations are decided over the table: the fast paths for a check of one limit of one key,
//! and the general path for everything else.

mod apply;
mod batch;
mod decide;
mod fast_check;
mod few_shards;
mod insert;
pub(super) mod locked_shards;
mod lone_lease;
mod make_room;
mod one_limit;
mod several;
pub(super) mod single_check;
mod states;
mod thread_cache;
mod used_terms;
mod when_full;
mod whole;
