//! When all is quiet and time has passed, a key gets its whole limit again: neither slices that were not spent
//! nor what a node remembers stand in the way.

use super::{Verdict, ensure};
use crate::trace::Run;

pub(crate) fn judge(run: &Run) -> Verdict {
    for call in &run.end.demand {
        ensure!(call.decision().is_some_and(|of| of.allowed), "not admitted: {call:?}");
    }
    Ok(())
}
