//! Making room in a full store by dropping states that have reset.

use tollgate_core::Time;

use super::locked_shards::LockedShards;
use crate::lock::Lock;
use crate::memory::store::MemoryStore;
use crate::memory::table::account::Account;
use crate::memory::table::memory_budget::Growth;
use crate::memory::table::pause::Pause;
use crate::memory::table::shard::Shard;

/// About how many bytes of states an operation that finds the store full scans for some that have reset.
const MAX_SCANNED: usize = 65_536;

/// What an operation needs room for.
pub(super) struct Needed {
    /// Number of new states.
    pub(super) keys: usize,
    /// How many bytes more it may take.
    pub(super) growth: Growth,
}

impl MemoryStore {
    /// Drops states that have reset, and what has ended in others, in the locked shards. If that does not make enough
    /// room, also in some of the other shards.
    pub(super) fn make_room(
        &self,
        needed: &Needed,
        account: &Account,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) {
        if self.pause_for(needed, account).is_on(now) {
            return;
        }
        let mut scan = Scan { scanned: 0, has_found: false, first_expiry: Some(Time::MAX) };
        for shard in locked.shards() {
            scan.sweep(shard, self, now);
        }
        let start = self.budget.next_shard();
        for index in (0..self.shards.len()).map(|next| start.wrapping_add(next)) {
            let index = index & self.shards.len().wrapping_sub(1);
            if self.has_room(needed, account) || scan.scanned >= MAX_SCANNED {
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
        // What the locked shards need may be less by now: only a scan that found nothing was futile.
        if !scan.has_found || !Self::has_room_in_quota(needed, account) {
            self.pause_for(needed, account).set(now, scan.first_expiry);
        }
    }

    /// Returns whether a new key of this account may be denied: there is no room for one, or there was none a moment ago,
    /// and no scan would find what has been given back since.
    pub(super) fn is_short_of_keys(&self, account: &Account, now: Time) -> bool {
        let of_quota = account.quota().map(|quota| &quota.pause);
        let pauses = [Some(&self.budget.keys.pause), of_quota, self.memory.pause(account.share)];
        let one = Needed { keys: 1, growth: Growth::default() };
        !self.has_room(&one, account) || pauses.into_iter().flatten().any(|pause| pause.is_on(now))
    }

    fn has_room(&self, needed: &Needed, account: &Account) -> bool {
        Self::has_room_in_quota(needed, account)
            && self.memory.has_room(account.share, needed.growth)
            && self.budget.keys.has_room(needed.keys)
    }

    fn has_room_in_quota(needed: &Needed, account: &Account) -> bool {
        account.quota().is_none_or(|quota| quota.has_room(needed.keys))
    }

    fn has_room_in_store(&self, needed: &Needed) -> bool {
        self.memory.fits(needed.growth) && self.budget.keys.has_room(needed.keys)
    }

    /// Returns the pause of what has no room: a policy that has used up its own must not keep others from making
    /// some.
    fn pause_for<'a>(&'a self, needed: &Needed, account: &'a Account) -> &'a Pause {
        let of_store = &self.budget.keys.pause;
        if !self.has_room_in_store(needed) {
            return of_store;
        }
        match account.quota() {
            Some(quota) if !Self::has_room_in_quota(needed, account) => &quota.pause,
            _ => self.memory.pause(account.share).unwrap_or(of_store),
        }
    }
}

/// A scan for states that have reset.
struct Scan {
    /// Number of bytes that were scanned.
    scanned: usize,
    /// Whether any state was dropped, or memory given back.
    has_found: bool,
    /// When the first of the states resets; `None` if not all shards were scanned.
    first_expiry: Option<Time>,
}

impl Scan {
    fn sweep(&mut self, shard: &mut Shard, store: &MemoryStore, now: Time) {
        let before = shard.bytes();
        self.scanned = self.scanned.saturating_add(before);
        let sweep = |shard: &mut Shard| shard.sweep_all(&store.layout, &store.memory, now);
        let (freed, tables) = shard.measured(sweep);
        store.memory.count_tables(tables);
        store.budget.keys.remove(freed);
        self.has_found |= freed > 0 || shard.bytes() != before;
        let expiry = shard.first_expiry(&store.layout).unwrap_or(Time::MAX);
        self.first_expiry = self.first_expiry.map(|first| first.min(expiry));
    }
}
