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

/// A check whose denial can be repeated may first wait for another caller who asks the same. Before that, a
/// node that decides by itself may wait for the call of the key that is under way.
fn max_time(run: &Run, call: &Call) -> u64 {
    let may_wait = call.op.id.is_none() && !call.in_batch;
    let for_same = u64::from(may_wait && call.op.act == Act::Check);
    let is_local = run.plan.mode.kind != Kind::Strict;
    let is_decided_here = is_local && matches!(call.op.act, Act::Check | Act::Peek);
    let for_call = u64::from(may_wait && is_decided_here);
    (1 + for_same + for_call) * run.timeout()
}
