//! What every rule of counting implements.

use super::footprint::ListSize;
use super::handle::Handle;
use super::reservation::Reservation;
use crate::error::Overdrawn;
use crate::time::{Span, Time};
use crate::walked::walk;

/// Maximum value of any counter or level. Whole numbers up to here, and the sum of two, are exact
/// in a double, which is what the Redis scripts count in.
pub const MAX_COUNT: u64 = (1 << 52) - 1;

/// Maximum number of entries in the state of one key: requests of a sliding-log, slots of sliding
/// counters, leases. Limits that need more are rejected, and so is an operation that would exceed it by
/// going beyond the limit.
pub const MAX_ENTRIES: usize = 10_000;

/// A cost that was taken earlier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) cost: u64,
    pub(crate) at: Time,
    pub(crate) handle: Handle,
}

/// A rule of counting: reads and changes the counts of one subject.
///
/// `now` is never before the state's own [`instant`](Counting::instant), and a state that is passed
/// in is live: `now` is before it [resets](Counting::resets_at). `None` is a key never seen. A
/// state always counts something; a rule that is left with nothing leaves `None`.
pub(crate) trait Counting {
    /// The counts of one subject, with the numbers they were written under.
    type State: Clone;

    /// Whether it gives leases.
    const GIVES_LEASES: bool = false;

    /// Returns the most that can be used at one instant.
    fn capacity(&self) -> u64;

    /// Returns the longest time a full key takes to reset.
    fn full_reset_after(&self) -> Span;

    /// Returns the instant the state implies; decisions are made no earlier (law 6).
    fn instant(state: &Self::State) -> Time;

    /// Returns the instant from which the state counts as absent (law 5).
    fn resets_at(state: &Self::State) -> Time;

    /// Returns the room of its slots or leases, if it has any.
    fn list_size(_state: &Self::State) -> Option<ListSize> {
        None
    }

    /// Drops what no longer counts, and the room for it.
    fn trim(_state: &mut Self::State, _now: Time) {}

    /// Returns how much more fits; `None` in debt.
    fn headroom(&self, state: &Self::State, now: Time) -> Option<u64>;

    /// Returns the first instant at which `cost` fits. Called only if it does not fit now but can.
    fn fits_at(&self, state: &Self::State, now: Time, cost: u64) -> Time;

    /// Adds the cost, whatever the capacity.
    fn take(
        &self,
        state: &mut Option<Self::State>,
        now: Time,
        cost: u64,
        handle: Option<Handle>,
    ) -> Result<(), Overdrawn>;

    /// Removes the newest cost.
    fn refund(&self, state: &mut Option<Self::State>, now: Time, cost: u64);

    /// Returns how much of an earlier cost could still be refunded.
    fn refundable(&self, state: &Self::State, now: Time, taken: Taken) -> u64;

    /// Lowers the `max_refund` of each reservation to what is refundable of it now.
    fn cap_refundable(
        &self,
        state: Option<&Self::State>,
        now: Time,
        reservations: &mut [Reservation],
    ) {
        walk(reservations.len());
        for reservation in reservations {
            let refundable =
                state.map_or(0, |state| self.refundable(state, now, reservation.taken()));
            reservation.max_refund = reservation.max_refund.min(refundable);
        }
    }

    /// Returns how much less would be [refundable](Counting::refundable) of `other` if `taken` had
    /// been less by `cost`. This is all of it where all cost is in one level.
    fn overlap(&self, cost: u64, _taken: Taken, _other: Taken) -> u64 {
        cost
    }

    /// Refunds part of an earlier cost, at most what is [`refundable`](Counting::refundable).
    /// Returns whether that changed anything. Where all cost is in one level, the newest is
    /// refunded.
    fn refund_at(
        &self,
        state: &mut Option<Self::State>,
        now: Time,
        cost: u64,
        _taken: Taken,
    ) -> bool {
        self.refund(state, now, cost);
        true
    }

    /// Adds a cost as if it had been taken earlier, or stricter. Returns whether it still counts.
    ///
    /// The default takes it now. A bucket does not know how long it has been empty since, and would
    /// not have drained more had it held more, so taking it now is as strict or stricter.
    fn charge_at(
        &self,
        state: &mut Option<Self::State>,
        now: Time,
        cost: u64,
        taken: Taken,
    ) -> Result<bool, Overdrawn> {
        self.take(state, now, cost, Some(taken.handle)).map(|()| true)
    }

    /// Returns whether leases are held under the handle.
    fn holds(_state: &Self::State, _now: Time, _handle: Handle) -> bool {
        false
    }

    /// Ends the leases under the handle. Returns whether there were any.
    fn release(&self, _state: &mut Option<Self::State>, _now: Time, _handle: Handle) -> bool {
        false
    }

    /// Extends the leases under the handle. Returns whether any was extended.
    fn renew(&self, _state: &mut Option<Self::State>, _now: Time, _handle: Handle) -> bool {
        false
    }
}

/// A rule whose states are never packed.
pub(super) trait InPlace: Counting {
    /// Takes a cost that fits in a live state, at the instant of the decision, which does not move it. `None` if
    /// [`take`](Counting::take) has to be called; then nothing has changed.
    fn take_in_place(
        &self,
        state: &mut Self::State,
        at: Time,
        cost: u64,
        handle: Option<Handle>,
    ) -> Option<()>;
}
