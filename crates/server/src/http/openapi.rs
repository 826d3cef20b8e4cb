//! The OpenAPI description.

/// The description of all paths.
pub(super) const OPENAPI: &str = include_str!("openapi.json");
