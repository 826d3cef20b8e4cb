//! A reservation that is not settled yet.

use super::counting::{Counting, Taken};
use super::handle::Handle;
use crate::time::{Span, Time};

/// How long a reservation can be settled. It takes memory, so it has an end; the answer of a model
/// or a download is over by then.
pub const RESERVATION_TTL: Span = Span::from_micros(3_600_000_000);

/// Maximum number of reservations that one key can have open under one limit. Reserving a cost of
/// zero is free and must not fill the memory.
pub const MAX_RESERVATIONS: usize = 1024;

/// An open reservation.
#[derive(Debug, Clone)]
pub(crate) struct Reservation {
    pub(super) handle: Handle,
    /// When its cost was taken.
    pub(super) at: Time,
    pub(super) estimate: u64,
    /// The most that settling may refund: the least that was refundable at any time since it was
    /// reserved. To refund more would be more generous than if less had been reserved, because cost
    /// that has drained or was refunded meanwhile is no longer there.
    pub(super) max_refund: u64,
    /// When it is forgotten; its estimate then stands as charged.
    pub(super) expires: Time,
}

impl Reservation {
    /// Creates a reservation whose cost was taken at the instant `at` by an operation at `now`.
    pub(super) fn new(handle: Handle, at: Time, estimate: u64, now: Time) -> Reservation {
        let expires = now.after(RESERVATION_TTL);
        Reservation { handle, at, estimate, max_refund: 0, expires }
    }

    pub(super) fn taken(&self) -> Taken {
        Taken { cost: self.estimate, at: self.at, handle: self.handle }
    }

    pub(super) fn refundable<R: Counting>(&self, rule: &R, state: &R::State, at: Time) -> u64 {
        rule.refundable(state, at, self.taken())
    }
}
