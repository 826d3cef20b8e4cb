//! The store admits no more than the limits allow: in any time, what its rules bound, and once more the limit
//! for each time that a key was reset or the store forgot.

use tollgate::Act;

use super::ledger::{Event, Ledger, given, shift};
use super::{Verdict, ensure};
use crate::limits::Rule;
use crate::trace::{Booking, Run};

pub(crate) fn judge(run: &Run) -> Verdict {
    for key in run.end.remaining.keys() {
        let bookings = run.bookings_of(key);
        for booking in &bookings {
            judge_booking(booking)?;
        }
        for rule in &run.plan.rules {
            judge_rule(run, rule, &bookings)?;
        }
    }
    Ok(())
}

/// A check and a reservation take their cost, or nothing if they are denied or repeated.
fn judge_booking(booking: &Booking) -> Verdict {
    if !matches!(booking.op.act, Act::Check | Act::Reserve) {
        return Ok(());
    }
    let expected = if booking.allowed { booking.op.cost() } else { 0 };
    let is_repeated = booking.op.id.is_some() && booking.taken == 0;
    ensure!(booking.taken == expected || is_repeated, "took something else: {booking:?}");
    Ok(())
}

fn judge_rule(run: &Run, rule: &Rule, bookings: &[&Booking]) -> Verdict {
    let booked = bookings.iter().filter_map(|booking| {
        let event = match booking.op.act {
            Act::Check | Act::Reserve if booking.taken > 0 => Event::Admitted(booking.taken),
            Act::Settle => Event::Given(booking.given + shift(rule)),
            _ => return None,
        };
        Some((booking.at, event))
    });
    let ledger = Ledger::new(booked.chain(given(run, rule, bookings, rule.after_reset())));
    let Some(worst) = ledger.worst(rule, 0) else { return Ok(()) };
    ensure!(worst.excess() == 0, "{worst}, of {rule:?}");
    Ok(())
}
