//! The first check of a key: there is no state to be lent, only one to be put.

use tollgate_core::{Decision, Op, Time};

use super::MemoryStore;
use super::check::{Asked, Record as _, plain_check};
use super::record::Word;
use super::shard::Shard;
use super::thread_cache::recall;

impl MemoryStore {
    /// A check of one limit of a key that has no state of one word: none at all, or one of three words;
    /// `None` if it takes more.
    pub(super) fn answer_first(&self, op: &Op<'_>, now: Time) -> Option<Decision> {
        let (asked, subject) = plain_check(op)?;
        let salt = self.secret.salt(op.policy, subject);
        let (hash, _) = recall::<Word>(self.number, salt, subject.key.as_bytes());
        let lock = self.shard(self.place(hash))?;
        let mut shard = lock.lock();
        let fingerprint = hash.fingerprint_at(0);
        let known = shard.row(fingerprint).and_then(|row| row.check(&asked, &self.layout, now));
        let decision = known.or_else(|| self.put_first(&mut shard, fingerprint, &asked, now));
        if decision.is_none() {
            lock.unlock_unchanged(shard);
        }
        decision
    }

    /// The same in a shard that is held.
    pub(super) fn put_first(
        &self,
        shard: &mut Shard,
        fingerprint: u64,
        asked: &Asked<'_>,
        now: Time,
    ) -> Option<Decision> {
        if shard.has(fingerprint) {
            return None;
        }
        let (decision, kept) = self.layout.check_first(asked, now)?;
        if !self.budget.add(1) {
            return None;
        }
        self.budget.remove(match kept {
            Some(kept) => {
                let dropped = shard.keep(&self.layout, fingerprint, kept, now);
                dropped.saturating_add(shard.sweep_few(&self.layout, fingerprint, now))
            }
            // It was denied, and leaves nothing behind.
            None => 1,
        });
        Some(decision)
    }
}
