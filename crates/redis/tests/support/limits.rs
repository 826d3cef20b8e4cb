//! Lines of limits.

use tollgate_core::Limit;

/// Returns a line with `count-denied` if it is to have that and accepts it.
pub(crate) fn with_count_denied((line, counts_denied): (String, bool)) -> String {
    let counting = format!("{line} count-denied");
    if counts_denied && counting.parse::<Limit>().is_ok() { counting } else { line }
}
