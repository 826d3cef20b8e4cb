//! What is repeated under one id is done once.

use std::collections::HashMap;

use tollgate::Act;

use super::{Verdict, ensure};
use crate::trace::Run;

pub(crate) fn judge(run: &Run) -> Verdict {
    // Both forget the ids, too.
    let is_forgotten = !run.forgets.is_empty() || run.plan.calls.resets > 0;
    if is_forgotten {
        return Ok(());
    }
    let mut done = HashMap::new();
    for booking in &run.bookings {
        let changed = booking.taken > 0 || booking.given > 0;
        let Some(id) = booking.op.id.as_ref().filter(|_| changed) else { continue };
        let times: &mut u32 = done.entry((&booking.op.key, id)).or_default();
        *times += 1;
        ensure!(*times == 1, "done twice: {booking:?}");
    }
    judge_admissions(run, &done)
}

/// An admission under an id was taken, however often it took to learn of it.
fn judge_admissions(run: &Run, done: &HashMap<(&Vec<u8>, &Vec<u8>), u32>) -> Verdict {
    let admitted = run.calls.iter().filter(|call| call.op.act == Act::Check);
    let admitted = admitted.filter(|call| call.by_store().is_some_and(|of| of.allowed));
    for call in admitted {
        let Some(id) = &call.op.id else { continue };
        ensure!(done.contains_key(&(&call.op.key, id)), "never taken: {call:?}");
    }
    Ok(())
}
