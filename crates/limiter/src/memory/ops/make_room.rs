//! Making room in a full store by dropping states that have reset.

use std::sync::Arc;

use tollgate_core::Time;
use tollgate_core::storage::Footprint;

use super::locked_shards::LockedShards;
use crate::lock::Lock;
use crate::memory::store::MemoryStore;
use crate::memory::table::quota::Quota;
use crate::memory::table::shard::Shard;

/// About how many bytes of states an operation that finds the store full scans for some that have reset.
const MAX_SCANNED: usize = 65_536;

impl MemoryStore {
    /// Drops states that have reset, and what has ended in others, in the locked shards. If those states are fewer
    /// than `needed`, or the quota has no room for them yet, also in some of the other shards.
    pub(super) fn make_room(
        &self,
        needed: usize,
        quota: Option<&Arc<Quota>>,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) {
        if self.budget.is_paused(now) {
            return;
        }
        let mut scan =
            Scan { freed: 0, scanned: 0, gave_back: false, first_expiry: Some(Time::MAX) };
        for shard in locked.shards() {
            scan.sweep(shard, self, now);
        }
        let start = self.budget.next_shard();
        for index in (0..self.shards.len()).map(|next| start.wrapping_add(next)) {
            let index = index & self.shards.len().wrapping_sub(1);
            let is_enough =
                scan.freed >= needed && quota.is_none_or(|quota| quota.has_room(needed));
            if is_enough || scan.scanned >= MAX_SCANNED {
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
        if scan.freed == 0 && !scan.gave_back {
            self.budget.pause(now, scan.first_expiry);
        }
    }
}

/// The result of a scan for states that have reset.
struct Scan {
    /// Number of states that were dropped.
    freed: usize,
    /// Number of bytes that were scanned.
    scanned: usize,
    /// Whether any memory was given back.
    gave_back: bool,
    /// When the first of the states resets; `None` if not all shards were scanned.
    first_expiry: Option<Time>,
}

impl Scan {
    fn sweep(&mut self, shard: &mut Shard, store: &MemoryStore, now: Time) {
        let Footprint { states, leases, reservations } = shard.footprint();
        self.scanned =
            [states, leases, reservations].into_iter().fold(self.scanned, usize::saturating_add);
        let (freed, change) = shard.measured(|shard| shard.sweep_all(&store.layout, now));
        store.memory.count(change);
        self.freed = self.freed.saturating_add(freed);
        self.gave_back |= change != Footprint::default();
        let expiry = shard.first_expiry(&store.layout).unwrap_or(Time::MAX);
        self.first_expiry = self.first_expiry.map(|first| first.min(expiry));
    }
}
