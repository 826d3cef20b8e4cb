//! Every call is answered in time, whatever the network does.

use tollgate::Act;

use super::{Verdict, ensure};
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

/// A check whose denial can be repeated may first wait for another caller who asks the same.
fn max_time(run: &Run, call: &Call) -> u64 {
    let may_wait = call.op.act == Act::Check && call.op.id.is_none() && !call.in_batch;
    if may_wait { 2 * run.timeout() } else { run.timeout() }
}
