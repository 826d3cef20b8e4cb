//! The memory store: the states of all keys in this process, exact under any number of threads.
//!
//! [`table`] is how states are kept: a hash, keyed with a secret, spreads keys over shards; a shard
//! is ordinary code under a lock. [`ops`] is how operations are decided over it. `check_*` are the
//! fast paths for checks without an id, `apply_*` take any operation, and `decide_*` call the core.
//!
//! # The path of an operation
//!
//! A step that cannot decide passes the operation on to the next one. A check of one limit of one key, without an id,
//! begins at step 1 if the states of the limit have a fixed size; every other operation begins at step 5.
//!
//! | step | decides if | locks |
//! |---|---|---|
//! | 1. `check_one_word` | this thread has cached a denial of the key by a one-word record, its shard has not changed since, and the cached record still denies | nothing |
//! | 2. `check_one_word` | the key has a one-word record, written under the terms of the limit | its shard |
//! | 3. `check_three_words`, `check_whole` | the same as 1 and 2 for a three-word record; or the limit has slots or leases, and the key has a state under its numbers; only [`Limiter::check`](crate::Limiter::check) takes this step | nothing, or its shard |
//! | 4. `check_or_insert` | the key has a three-word record under the terms of the limit; or it has no state, its state fits a record, and there is room | its shard |
//! | 5. `check_several` | it is a check of two to four limits without an id, and all states are records, written under the terms of their limits | the shards of its subjects |
//! | 6. `apply_to_one` | it is on one limit, and the state of the key is not packed; or the limit has slots or leases, the key is new, and there is room; or it is a check with an id, and steps 2 to 4 would decide it without | its shard |
//! | 7. `apply_batch` of one operation | always: see below | the shards of its subjects |
//!
//! # The path of a batch
//!
//! `apply_batch` takes up to [`BATCH_SIZE`] operations, `check_batch` as many keys of one limit. Both
//! lock the shards of all subjects, and then for each operation in order:
//!
//! | step | decides if |
//! |---|---|
//! | 1. `check_locked` | it is a check of one limit without an id, and the key has a one-word record under the terms of the limit |
//! | 2. `apply_locked` | it is such a check, and the key has a three-word record, or no state, as in step 4 above |
//! | 3. `check_several` | as in step 5 above |
//! | 4. `decide_locked` | its id is remembered: the decision is returned again |
//! | 5. `decide_states` | always: takes the states out of the table, calls the core's `decide`, puts them back |
//!
//! In step 5, a store without room for the missing states, or for what the others may grow by, first drops
//! states that have reset (`make_room`). If there may still be no room, `decide_when_full` decides.

mod builder;
mod ids;
mod ops;
mod prepared;
mod shares;
mod snapshot;
mod stats;
mod store;
mod table;

pub use builder::{BuildError, MemoryStoreBuilder};
pub use prepared::Prepared;
pub use snapshot::SnapshotError;
pub use stats::{MemoryShare, StoreStats};
pub use store::{MemoryStore, WhenFull};

#[cfg(feature = "layers")]
pub(crate) use builder::MIN_MEMORY;
pub(crate) use ops::locked_shards::BATCH_SIZE;
pub(crate) use ops::single_check::SingleCheck;
