//! How a reservation is settled: as if its actual cost had been taken when it was made, or stricter.

use super::{Command, Entry};
use crate::error::Overdrawn;
use crate::rule::counting::Counting;
use crate::rule::reservation::Reservation;
use crate::time::Time;
use crate::walked::walk;

impl<S> Entry<S> {
    /// Corrects an open reservation to its actual cost. Returns whether that took or gave anything; on an error nothing
    /// changes.
    pub(super) fn settle<R: Counting<State = S>>(
        &mut self,
        rule: &R,
        command: &Command,
    ) -> Result<bool, Overdrawn> {
        let open = command.handle.and_then(|handle| self.open_reservation(command.now, handle));
        let Some(index) = open else { return Ok(false) };
        let reservation = self.reservations.remove(index);
        // The clock may have stepped back, but settling cannot happen before reserving.
        let (at, before) = self.prepare::<R>(command.now.max(reservation.at), command);
        self.cap_refundable(rule, at);
        let refundable = self.state().map_or(0, |state| reservation.refundable(rule, state, at));
        let least = reservation.max_refund.min(refundable);
        let settled = self.correct(rule, at, &reservation, command.cost, least);
        if settled != Ok(true) {
            self.roll_back(before);
        }
        if settled.is_err() {
            // What was there needs no more room than it had.
            self.reservations.reserve_exact(1);
            self.reservations.insert(index, reservation);
            return settled;
        }
        self.cap_after_settling(rule, &reservation, command.cost, least);
        if settled == Ok(true) {
            self.cap_refundable(rule, at);
        }
        settled
    }

    /// Lowers the `max_refund` of the other reservations to what it would be if this one had been
    /// reserved at its actual cost. `least` is the least that was refundable of it since.
    ///
    /// Otherwise several of them could each refund the same cost, which has drained only once. With
    /// the actual cost there would have been less, but only since this one was reserved: so there
    /// would have been at least `least` without the difference, where the least of another one is
    /// from an earlier time.
    fn cap_after_settling<R: Counting<State = S>>(
        &mut self,
        rule: &R,
        settled: &Reservation,
        actual: u64,
        least: u64,
    ) {
        let less = settled.estimate.saturating_sub(actual);
        let least_since = least.saturating_sub(less);
        walk(self.reservations.len());
        for reservation in &mut self.reservations {
            let less = rule.overlap(less, settled.taken(), reservation.taken());
            let mut capped = reservation.max_refund.saturating_sub(less);
            if reservation.at <= settled.at {
                capped = capped.max(least_since);
            }
            reservation.max_refund = reservation.max_refund.min(capped);
        }
    }

    /// Takes what the estimate was short of the actual cost, or refunds what it was too much.
    fn correct<R: Counting<State = S>>(
        &mut self,
        rule: &R,
        at: Time,
        reservation: &Reservation,
        actual: u64,
        least: u64,
    ) -> Result<bool, Overdrawn> {
        if actual > reservation.estimate {
            let more = actual.saturating_sub(reservation.estimate);
            return rule.charge_at(&mut self.state, at, more, reservation.taken());
        }
        let less = reservation.estimate.saturating_sub(actual).min(least);
        Ok(less > 0 && rule.refund_at(&mut self.state, at, less, reservation.taken()))
    }
}
