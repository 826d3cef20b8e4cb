//! Every call is answered in time, whatever the network does.

use tollgate::Act;

use super::{Verdict, ensure};
use crate::plan::Kind;
use crate::trace::{Call, CallResult, Run};

/// Timers are exact to a millisecond.
const SLACK: u64 = 2_000;

pub(crate) fn judge(run: &Run) -> Verdict {
    for call in &run.calls {
        ensure!(call.result != CallResult::Hung, "no answer: {call:?}");
        let (took, timeout) = (call.ended - call.began, max_time(run, call) + SLACK);
        ensure!(took <= timeout, "took {took} us, more than {timeout}: {call:?}");
    }
    Ok(())
}

/// A check whose denial can be repeated may first wait for another caller who asks the same. Where a node decides by
/// itself, one that is alone may wait for the call of the key that is under way.
fn max_time(run: &Run, call: &Call) -> u64 {
    let is_local = run.plan.mode.kind != Kind::Strict;
    let (is_plain, is_alone) = (call.op.id.is_none(), !call.in_batch);
    let is_check = call.op.act == Act::Check;
    let for_same = is_plain && is_check && !is_local;
    let for_call = is_plain && is_alone && is_local && (is_check || call.op.act == Act::Peek);
    (1 + u64::from(for_same) + u64::from(for_call)) * run.timeout()
}
