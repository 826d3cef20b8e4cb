//! Making room in a full store by dropping states that have reset.

use tollgate_core::Time;

use super::locked_shards::LockedShards;
use crate::lock::Lock;
use crate::memory::store::MemoryStore;
use crate::memory::table::shard::Shard;

/// About how many states an operation that finds the store full scans for some that have reset.
const MAX_SCANNED: usize = 2048;

impl MemoryStore {
    /// Drops states that have reset in the locked shards, and if those are fewer than `needed`, in
    /// some of the others.
    pub(super) fn make_room(&self, needed: usize, locked: &mut LockedShards<'_>, now: Time) {
        if self.budget.is_paused(now) {
            return;
        }
        let mut scan = Scan { freed: 0, scanned: 0, first_expiry: Some(Time::MAX) };
        for shard in locked.shards() {
            scan.sweep(shard, self, now);
        }
        let start = self.budget.next_shard();
        for index in (0..self.shards.len()).map(|next| start.wrapping_add(next)) {
            let index = index & self.shards.len().wrapping_sub(1);
            if scan.freed >= needed || scan.scanned >= MAX_SCANNED {
                self.budget.set_next_shard(index);
                scan.first_expiry = None;
                break;
            }
            if locked.has(index) {
                continue;
            }
            // A shard that another thread has locked is skipped: that thread may wait for one of ours.
            match self.shard(index).and_then(Lock::try_lock) {
                Some(mut shard) => scan.sweep(&mut shard, self, now),
                None => scan.first_expiry = None,
            }
        }
        self.budget.remove(scan.freed);
        if scan.freed == 0 {
            self.budget.pause(now, scan.first_expiry);
        }
    }
}

/// The result of a scan for states that have reset.
struct Scan {
    freed: usize,
    scanned: usize,
    /// When the first of the states resets; `None` if not all shards were scanned.
    first_expiry: Option<Time>,
}

impl Scan {
    fn sweep(&mut self, shard: &mut Shard, store: &MemoryStore, now: Time) {
        self.scanned = self.scanned.saturating_add(shard.len());
        self.freed = self.freed.saturating_add(shard.sweep_all(&store.layout, now));
        let expiry = shard.first_expiry(&store.layout).unwrap_or(Time::MAX);
        self.first_expiry = self.first_expiry.map(|first| first.min(expiry));
    }
}
