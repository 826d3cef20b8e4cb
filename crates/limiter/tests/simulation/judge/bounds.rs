//! The store admits no more than the limits allow: in any time, what its rules bound, and once more the limit
//! for each time that a key was reset or the store forgot.

use super::{Verdict, ensure};
use crate::limits::Rule;
use crate::trace::{Booking, Run};
use tollgate::Act;

pub(crate) fn judge(run: &Run) -> Verdict {
    for key in run.end.remaining.keys() {
        let bookings = run.bookings.iter().filter(|booking| booking.op.key == *key);
        let bookings: Vec<&Booking> = bookings.collect();
        for booking in &bookings {
            judge_booking(booking)?;
        }
        for rule in &run.plan.rules {
            judge_rule(run, rule, &bookings)?;
        }
    }
    Ok(())
}

/// A check takes its cost, or nothing if it is denied or repeated.
fn judge_booking(booking: &Booking) -> Verdict {
    if booking.op.act != Act::Check {
        return Ok(());
    }
    let expected = if booking.allowed { booking.op.cost() } else { 0 };
    let is_repeated = booking.op.id.is_some() && booking.taken == 0;
    ensure!(booking.taken == expected || is_repeated, "took something else: {booking:?}");
    Ok(())
}

/// What can make a difference to a bound.
enum Event {
    Admitted(u64),
    Given(u64),
}

fn events(run: &Run, rule: &Rule, bookings: &[&Booking]) -> Vec<(u64, Event)> {
    let booked = bookings.iter().filter_map(|booking| {
        let event = match booking.op.act {
            Act::Check if booking.taken > 0 => Event::Admitted(booking.taken),
            Act::Reset => Event::Given(rule.after_reset()),
            // Water that leaves early may let the next drop fall at another time.
            Act::Refund => Event::Given(
                booking.given.max(booking.op.cost()) + rule.after_reset() - rule.capacity(),
            ),
            _ => return None,
        };
        Some((booking.at, event))
    });
    let forgotten = run.forgets.iter().map(|at| (*at, Event::Given(rule.after_reset())));
    let mut events: Vec<(u64, Event)> = booked.chain(forgotten).collect();
    // At the same instant, what is given may have come first.
    events.sort_by_key(|(at, event)| (*at, matches!(event, Event::Admitted(_))));
    events
}

fn judge_rule(run: &Run, rule: &Rule, bookings: &[&Booking]) -> Verdict {
    let events = events(run, rule, bookings);
    for (from, first) in &events {
        if !matches!(first, Event::Admitted(_)) {
            continue;
        }
        let index = events.partition_point(|(at, _)| at < from);
        let (mut admitted, mut given) = (0, 0);
        for (to, event) in &events[index..] {
            match event {
                Event::Admitted(cost) => admitted += cost,
                Event::Given(cost) => given += cost,
            }
            let Some(bound) = rule.bound(*from, *to, 1) else { break };
            ensure!(
                admitted <= bound + given,
                "{admitted} > {bound} + {given} of {rule:?}, {from} to {to}"
            );
        }
    }
    Ok(())
}
