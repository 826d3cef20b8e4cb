//! What is repeated under one id is done once.

use std::collections::HashSet;

use tollgate::Act;

use super::{Verdict, ensure};
use crate::trace::Run;

pub(crate) fn judge(run: &Run) -> Verdict {
    // Both forget the ids, too.
    let is_forgotten = !run.forgets.is_empty() || run.plan.calls.resets > 0;
    if is_forgotten {
        return Ok(());
    }
    let mut done = HashSet::new();
    for booking in &run.bookings {
        let changed = booking.taken > 0 || booking.given > 0;
        let Some(id) = booking.op.id.as_ref().filter(|_| changed) else { continue };
        // A reservation and its settlement have the same id.
        let is_first = done.insert((&booking.op.key, id, booking.op.act));
        ensure!(is_first, "done twice: {booking:?}");
    }
    judge_admissions(run, &done)
}

/// An admission under an id was taken, however often it took to learn of it.
fn judge_admissions(run: &Run, done: &HashSet<(&Vec<u8>, &Vec<u8>, Act)>) -> Verdict {
    let admitted = run.calls.iter().filter(|call| call.op.act == Act::Check);
    let admitted = admitted.filter(|call| call.by_store().is_some_and(|of| of.allowed));
    for call in admitted {
        let Some(id) = &call.op.id else { continue };
        ensure!(done.contains(&(&call.op.key, id, Act::Check)), "never taken: {call:?}");
    }
    Ok(())
}
