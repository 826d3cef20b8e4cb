//! The first check of a key: there is no state to be lent, only one to be put.

use tollgate_core::{Decision, Time};

use super::MemoryStore;
use super::check::Asked;
use super::lock::{Guard, Lock};
use super::shard::Shard;

impl MemoryStore {
    /// A check of one limit of a key that was looked for in its shard and not found there; `None` if it
    /// takes more.
    #[cold]
    #[inline(never)]
    pub(super) fn check_first(
        &self,
        lock: &Lock<Shard>,
        mut shard: Guard<'_, Shard>,
        mark: u64,
        asked: &Asked<'_>,
        now: Time,
    ) -> Option<Decision> {
        let decision = self.put_first(&mut shard, mark, asked, now);
        if decision.is_none() {
            lock.unlock_unchanged(shard);
        }
        decision
    }

    /// The same in a shard that stays locked.
    pub(super) fn put_first(
        &self,
        shard: &mut Shard,
        mark: u64,
        asked: &Asked<'_>,
        now: Time,
    ) -> Option<Decision> {
        if shard.has(mark) {
            return None;
        }
        let (decision, kept) = self.frame.check_first(asked, now)?;
        if !self.keys.add(1) {
            return None;
        }
        self.keys.remove(match kept {
            Some(kept) => {
                let dropped = shard.keep(&self.frame, mark, kept, now);
                dropped.saturating_add(shard.sweep_few(&self.frame, mark, now))
            }
            // It was denied, and leaves nothing behind.
            None => 1,
        });
        Some(decision)
    }
}
