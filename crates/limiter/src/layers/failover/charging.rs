//! The store is charged for what was allowed without it: each key with what still counts.

use std::time::Duration;

use tokio::sync::MutexGuard;
use tokio::time::timeout;
use tollgate_core::{Act, Apply, Decision, Item, Op, Store, StoreError, Time};

use super::fallback::{Fallback, used_before};
use super::uncharged::Charge;
use crate::layers::costs::Costs;
use crate::layers::hash::Hash;
use crate::layers::owned_op::OwnedOp;

/// Number of keys that are charged in one call.
const KEYS_PER_CALL: usize = 64;

impl Fallback {
    /// Returns whether there is something to charge that no task is charging.
    pub(super) fn needs_recovery(&self) -> bool {
        !self.uncharged.is_empty() && self.recovery.try_lock().is_ok()
    }

    /// Begins to charge the store, if there is something to charge that no task is charging.
    pub(super) fn begin_recovery(&self) -> Option<Recovery<'_>> {
        let lock = self.recovery.try_lock().ok().filter(|_| !self.uncharged.is_empty())?;
        Some(Recovery { fallback: self, _lock: lock })
    }

    /// Begins to charge the store when the task that is charging it has ended.
    pub(super) async fn recovery(&self) -> Recovery<'_> {
        Recovery { fallback: self, _lock: self.recovery.lock().await }
    }

    /// Takes what still counts of a key out of the counts here.
    fn take_counts(&self, hash: Hash) -> Option<Charge> {
        self.uncharged.take(hash, self.node.now(), |op| {
            let (now, costs) = (self.node.now(), self.drain(op));
            (!costs.is_none()).then(|| Charge::new(op, costs, self.node.ids.next(), now))
        })
    }

    /// Returns how much of each limit the store does not know of, and forgets it here.
    fn drain(&self, op: &OwnedOp) -> Costs {
        let items = op.items();
        let reset = op.op(&items).with_act(Act::Reset);
        used_before(&self.counts().allowed, &reset, None).into_iter().collect()
    }

    /// Counts again what the store has certainly not booked, so that it shrinks until it is charged.
    fn put_back(&self, hash: Hash, charge: &Charge) {
        let items = charge.items();
        if self.uncharged.charged(hash) {
            let at = Time::from_micros(charge.since);
            // It was counted before.
            let _ = self.counts().allowed.apply_one(&charge.op(&items).without_id(), at);
        }
    }
}

/// The right to charge the store. It ends with the task, also if its runtime stops.
pub(super) struct Recovery<'f> {
    fallback: &'f Fallback,
    _lock: MutexGuard<'f, ()>,
}

/// Keys that are being charged. Those that are left in the end are charged later.
struct Charging<'f> {
    fallback: &'f Fallback,
    keys: Vec<(Hash, Charge)>,
}

impl Drop for Charging<'_> {
    fn drop(&mut self) {
        self.keys.drain(..).for_each(|(hash, _)| self.fallback.uncharged.push(hash));
    }
}

impl Recovery<'_> {
    /// Charges each key with what still counts. Stops when the store fails again.
    pub(super) async fn charge_all(self, store: &impl Store, response_timeout: Duration) {
        // Those that cannot be charged go to the end, and wait for the next time.
        let mut left = self.fallback.uncharged.len();
        while left > 0 {
            let mut charging = Charging { fallback: self.fallback, keys: Vec::new() };
            for hash in self.fallback.uncharged.pop(left.min(KEYS_PER_CALL)) {
                left = left.saturating_sub(1);
                charging.keys.extend(self.fallback.take_counts(hash).map(|charge| (hash, charge)));
            }
            if !charging.send(store, response_timeout).await {
                return;
            }
        }
    }
}

impl Charging<'_> {
    /// Charges the keys in one call. Returns whether the store has answered for any of them.
    async fn send(&mut self, store: &impl Store, response_timeout: Duration) -> bool {
        let results = self.apply(store, response_timeout).await;
        let mut is_answered = results.is_empty();
        let keys = std::mem::take(&mut self.keys).into_iter().zip(results);
        for ((hash, charge), result) in keys {
            match result {
                Err(error) if super::is_failure(&error) => {
                    if error.is_refused() && !charge.is_repeated {
                        self.fallback.put_back(hash, &charge);
                    }
                    self.keys.push((hash, charge));
                }
                // A debt that is too large is not charged: the key is denied as it is.
                _ => {
                    is_answered = true;
                    self.fallback.uncharged.charged(hash);
                    // More may have been allowed meanwhile; if not, the key is forgotten.
                    self.keys.extend(self.fallback.take_counts(hash).map(|more| (hash, more)));
                }
            }
        }
        is_answered
    }

    async fn apply(
        &self,
        store: &impl Store,
        response_timeout: Duration,
    ) -> Vec<Result<Decision, StoreError>> {
        let items: Vec<Vec<Item<'_>>> =
            self.keys.iter().map(|(_, charge)| charge.items()).collect();
        let ops = self.keys.iter().zip(&items).map(|((_, charge), items)| charge.op(items));
        let ops: Vec<Op<'_>> = ops.collect();
        let mut results = vec![Err(StoreError::unanswered()); ops.len()];
        if let Apply::Pending(pending) = store.apply(&ops, None, &mut results) {
            let _ = timeout(response_timeout, pending).await;
        }
        results
    }
}
