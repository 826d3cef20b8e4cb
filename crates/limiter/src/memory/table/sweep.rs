//! Dropping states that have reset: a few at each new key, or all of a shard.

use tollgate_core::Time;
use tollgate_core::storage::walk;

use super::layout::Layout;
use super::memory_budget::MemoryBudget;
use super::shard::Shard;

/// Number of slots of each table that every new key sweeps, starting at its home. More than one, so
/// that live states outnumber dead ones however fast keys come and go.
const SWEPT_PER_KEY: usize = 8;

impl Shard {
    /// Drops states that have reset in a few slots from the home of a new key on. Returns how many.
    pub(crate) fn sweep_few(&mut self, layout: &Layout, fingerprint: u64, now: Time) -> usize {
        self.sweep(layout, fingerprint, SWEPT_PER_KEY, layout.horizon(now))
    }

    fn sweep(&mut self, layout: &Layout, fingerprint: u64, slots: usize, horizon: Time) -> usize {
        walk(slots.min(self.one_word.slots().max(self.three_words.slots())));
        let keep = layout.keep_one_word(horizon);
        let one = self.one_word.sweep(&mut self.one_word_len, fingerprint, slots, keep);
        let keep = layout.keep_three_words(horizon);
        let three = self.three_words.sweep(&mut self.three_words_len, fingerprint, slots, keep);
        let leases = self.long.as_mut().map(|long| &mut long.lone);
        let leases = leases.map_or(0, |leases| {
            walk(slots.min(leases.slots()));
            leases.sweep(layout, fingerprint, slots, horizon)
        });
        one.saturating_add(three).saturating_add(leases)
    }

    /// Drops all states that have reset, and what has ended in others, without slack. Gives memory back.
    /// Returns how many states were dropped.
    pub(crate) fn sweep_all(&mut self, layout: &Layout, memory: &MemoryBudget, now: Time) -> usize {
        // In all of them: a table has no more slots than this.
        let swept = self.sweep(layout, 0, usize::MAX, now);
        self.one_word.shrink(&mut self.one_word_len);
        self.three_words.shrink(&mut self.three_words_len);
        let Some(long) = &mut self.long else { return swept };
        let swept = swept.saturating_add(long.sweep_all(memory, now));
        if long.is_empty() {
            self.long = None;
        }
        swept
    }
}
