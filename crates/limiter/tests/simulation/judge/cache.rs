//! A denial that a node repeats is the one that the store would return.

use tollgate::{Act, Decision, Source};

use super::{Verdict, ensure};
use crate::trace::{Booking, Call, Run};

/// How long a denial is repeated at most, by the clock of the node, in microseconds.
const MAX_AGE: u64 = 1_000_000;

pub(crate) fn judge(run: &Run) -> Verdict {
    let answered = run.answered();
    let answered = |index: usize| answered.get(&index).copied();
    for call in &run.calls {
        let Some(denial) = call.decision().filter(|of| of.source == Source::Cache) else {
            continue;
        };
        ensure!(!denial.allowed && !denial.degraded, "more than a denial: {call:?}");
        let history = History::of(run, call, &answered);
        ensure!(history.is_known(), "known from nowhere: {call:?}");
        let Some(truth) = &call.truth else { continue };
        if truth.allowed {
            let excused = history.is_changed() || history.is_late_by_clock();
            ensure!(excused, "the store would allow it: {call:?}");
        } else if !history.is_inexact() {
            judge_numbers(run, call, denial, truth)?;
        }
    }
    Ok(())
}

/// If nothing has changed that the node does not know of, it has the numbers of the store.
fn judge_numbers(run: &Run, call: &Call, denial: &Decision, truth: &Decision) -> Verdict {
    let numbers = |of: &Decision| (of.limit, of.remaining, of.bound_by, of.retry_after.is_none());
    ensure!(numbers(denial) == numbers(truth), "not the store's numbers: {call:?}");
    let node = &run.plan.nodes[call.node];
    let drift = MAX_AGE * node.rate.abs_diff(1_000_000) / 1_000_000 * 6 / 5 + 2;
    let waits = [
        (denial.retry_after.unwrap_or_default(), truth.retry_after.unwrap_or_default()),
        (denial.reset_after, truth.reset_after),
    ];
    for (wait, truth) in waits {
        let (wait, truth) = (wait.as_micros(), truth.as_micros());
        // The answer that the node learned from was on its way for less than the timeout.
        let is_close = wait + drift >= truth && wait <= truth + run.timeout() + drift;
        ensure!(is_close, "a wait of {wait} us, not {truth}: {call:?}");
    }
    Ok(())
}

/// What happened to a key while a denial could be repeated.
struct History<'r> {
    run: &'r Run,
    call: &'r Call,
    /// The bookings of the key, and when their answers reached a caller.
    bookings: Vec<(&'r Booking, Option<u64>)>,
    since: u64,
}

impl<'r> History<'r> {
    fn of(run: &'r Run, call: &'r Call, answered: &dyn Fn(usize) -> Option<u64>) -> History<'r> {
        let excess = run.plan.nodes[call.node].excess(MAX_AGE);
        let since = call.began.saturating_sub(MAX_AGE + excess);
        let first = run.bookings.partition_point(|booking| booking.at < since);
        let end = run.bookings.partition_point(|booking| booking.at <= call.ended);
        let bookings = (first..end).map(|index| (&run.bookings[index], answered(index)));
        let bookings = bookings.filter(|(booking, _)| booking.op.key == call.op.key).collect();
        History { run, call, bookings, since }
    }

    /// Returns the answers that this node may repeat.
    fn lessons(&self) -> impl Iterator<Item = &Booking> {
        let op = &self.call.op;
        let is_same = |booking: &Booking| booking.op == *op && booking.node == self.call.node;
        self.bookings.iter().map(|(booking, _)| *booking).filter(move |of| is_same(of))
    }

    fn is_known(&self) -> bool {
        self.lessons().next().is_some()
    }

    /// Returns whether the answer to a booking reached its caller on this node before this call was
    /// answered.
    fn is_noticed(&self, booking: &Booking, answered: Option<u64>) -> bool {
        booking.node == self.call.node && answered.is_some_and(|at| at < self.call.ended)
    }

    /// Returns whether something was given back that this node need not know of yet.
    fn is_changed(&self) -> bool {
        let gives = |act: Act| matches!(act, Act::Refund | Act::Reset | Act::Settle);
        let mut unnoticed =
            self.bookings.iter().filter(|(booking, answered)| !self.is_noticed(booking, *answered));
        let is_here = |at: &u64| (self.since..=self.call.ended).contains(at);
        unnoticed.any(|(booking, _)| gives(booking.op.act)) || self.run.forgets.iter().any(is_here)
    }

    /// Returns whether the denial has ended only for those whose clock is right.
    fn is_late_by_clock(&self) -> bool {
        let excess = self.run.plan.nodes[self.call.node].excess(MAX_AGE);
        self.run.plan.nodes[self.call.node].rate < 1_000_000
            && self.lessons().any(|lesson| {
                lesson.retry_after.is_none_or(|wait| lesson.at + wait + excess >= self.call.ended)
            })
    }

    /// Returns whether the numbers may differ, because something changed that this node does not know of.
    fn is_inexact(&self) -> bool {
        let changes = |act: Act| !matches!(act, Act::Peek);
        let mut unnoticed =
            self.bookings.iter().filter(|(booking, answered)| !self.is_noticed(booking, *answered));
        unnoticed.any(|(booking, _)| {
            changes(booking.op.act) && (booking.taken > 0 || booking.op.act != Act::Check)
        }) || self.is_changed()
    }
}
