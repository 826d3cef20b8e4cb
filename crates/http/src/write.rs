//! The dialects, a file for each kind. `retry-after` is the same in all of them and is not theirs.

pub(crate) mod drafts;
pub(crate) mod leaky;
pub(crate) mod named;
pub(crate) mod x;
