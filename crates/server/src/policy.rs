//! What a policy of the server is, before it is active: its description, and the names it may not have.

pub(crate) mod required_keys;

use tollgate_core::{Limit, Name};

/// The policy of limits that come with an operation. No configured policy may have this name.
pub(crate) const INLINE_POLICY: &str = "cl.throttle";

/// What is added to the name of a policy for its candidate. No configured policy may end in this.
pub(crate) const CANDIDATE_SUFFIX: &str = ".candidate";

/// Returns a unit of cost that a candidate takes and the limits of its policy do not, if there is one: no client
/// could send such a cost.
pub(crate) fn unit_of_candidate_alone<'c>(
    candidate: &'c [Limit],
    limits: &[Limit],
) -> Option<&'c Name> {
    let is_alone = |unit: &&Name| !limits.iter().any(|limit| limit.unit() == Some(*unit));
    candidate.iter().filter_map(Limit::unit).find(is_alone)
}
