//! What there is to be asked, for programs.

/// The description of all paths.
pub(super) const OPENAPI: &str = include_str!("openapi.json");
