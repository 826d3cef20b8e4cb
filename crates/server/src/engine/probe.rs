//! The operation that finds out whether the store responds.

use std::rc::Rc;
use std::sync::LazyLock;

use tollgate_core::{Act, Key, Limit, Name};

use super::operation::Operation;

/// The policy of the probe. Nothing is ever counted under it.
static PROBE: LazyLock<Name> = LazyLock::new(|| Name::reserved("readyz"));

/// Returns a reset, which no layer answers, and which fails if the store does not respond or cannot write. A peek
/// would not do: a Redis that is out of memory or read-only still answers it.
pub(crate) fn operation<'a>() -> Option<Operation<'a>> {
    let limit: Limit = "gcra 1/s".parse().ok()?;
    let key = Key::new(b"readyz").ok()?;
    Some(Operation::inline(&PROBE, Rc::new(limit), key, Act::Reset, 1))
}
