//! What a policy of the server is, before it is active: its description, and the names it may not have.

pub(crate) mod required_keys;

/// The policy of limits that come with an operation. No configured policy may have this name.
pub(crate) const INLINE_POLICY: &str = "cl.throttle";

/// What is added to the name of a policy for its candidate. No configured policy may end in this.
pub(crate) const CANDIDATE_SUFFIX: &str = ".candidate";
