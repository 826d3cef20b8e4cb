//! Looking for the terms that are in use, when there is no index for more.

use tollgate_core::Time;

use crate::memory::store::MemoryStore;

impl MemoryStore {
    /// Goes on with the [round](crate::memory::table::terms::Round) through all shards, if there is one, by a shard. No
    /// shard may be locked by this thread.
    #[inline]
    pub(super) fn go_on_with_round(&self, now: Time) {
        if self.layout.terms.is_full() {
            self.mark_used_terms(now);
        }
    }

    #[cold]
    fn mark_used_terms(&self, now: Time) {
        let terms = &self.layout.terms;
        let Some(mut round) = terms.round(now) else { return };
        if let Some(shard) = self.shard(round.shard) {
            shard.lock().terms_indices().for_each(|index| terms.mark(index));
        }
        terms.advance(&mut round, self.shards.len(), now);
    }
}
