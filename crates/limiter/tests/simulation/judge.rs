//! What must hold in every run. Each judge is a law of its own, and looks at the whole trace.

mod admissions;
mod bounds;
mod cache;
mod charges;
mod counted_once;
mod deadlines;
mod demand;
mod failure_modes;
mod ids;
mod ledger;
mod over_admission;
mod recovery;
mod slices;

use crate::trace::Run;

pub(crate) use over_admission::measure;

/// Why a run is wrong; `Ok` if it is not.
pub(crate) type Verdict = Result<(), String>;

type Judge = fn(&Run) -> Verdict;

const JUDGES: [(&str, Judge); 12] = [
    ("admissions", admissions::judge),
    ("bounds", bounds::judge),
    ("cache", cache::judge),
    ("charges", charges::judge),
    ("counted once", counted_once::judge),
    ("deadlines", deadlines::judge),
    ("demand", demand::judge),
    ("failure modes", failure_modes::judge),
    ("ids", ids::judge),
    ("over-admission", over_admission::judge),
    ("recovery", recovery::judge),
    ("slices", slices::judge),
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
