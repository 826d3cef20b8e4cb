//! What must hold in every run. Each judge is a law of its own, and looks at the whole trace.

mod admissions;
mod bounds;
mod cache;
mod deadlines;
mod failure_modes;
mod ids;
mod recovery;

use crate::trace::Run;

/// Why a run is wrong; `Ok` if it is not.
pub(crate) type Verdict = Result<(), String>;

type Judge = fn(&Run) -> Verdict;

const JUDGES: [(&str, Judge); 7] = [
    ("admissions", admissions::judge),
    ("bounds", bounds::judge),
    ("cache", cache::judge),
    ("deadlines", deadlines::judge),
    ("failure modes", failure_modes::judge),
    ("ids", ids::judge),
    ("recovery", recovery::judge),
];

/// Returns the names of the judges that a run does not satisfy, and why.
pub(crate) fn judge(run: &Run) -> Vec<(&'static str, String)> {
    let verdicts = JUDGES.into_iter().map(|(name, judge)| (name, judge(run)));
    verdicts.filter_map(|(name, verdict)| Some((name, verdict.err()?))).collect()
}

/// Fails with a message unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}
pub(crate) use ensure;
