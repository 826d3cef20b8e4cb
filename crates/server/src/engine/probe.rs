//! The operation that finds out whether the store responds.

use std::rc::Rc;
use std::sync::LazyLock;

use tollgate_core::{Act, Key, Limit, Name};

use super::operation::Operation;

/// The policy of the probe. No other operation counts under it.
static PROBE: LazyLock<Name> = LazyLock::new(|| Name::reserved("readyz"));

/// Returns a charge, which no layer answers, and which fails if the store does not respond or cannot write what a check
/// writes. A peek would not do: a Redis that is out of memory or read-only still answers it. What it charges counts for
/// a microsecond.
pub(crate) fn operation<'a>() -> Option<Operation<'a>> {
    let limit: Limit = "gcra 1000000/s".parse().ok()?;
    let key = Key::new(b"readyz").ok()?;
    Some(Operation::inline(&PROBE, Rc::new(limit), key, Act::Charge, 1))
}
