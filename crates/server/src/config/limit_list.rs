//! Lists of limits.

use tollgate_core::Limit;

use super::diagnostics::Diagnostics;
use super::value::Value;

/// Maximum length of a limit. The error message for a limit quotes all of it.
const MAX_LINE_BYTES: usize = 1024;

/// What a list of limits looks like, for error messages.
pub(super) const EXPECTED: &str = "a list of limits, such as [\"gcra 100/s burst 200\"]";

/// Maximum number of limits of a policy. Every check evaluates all of them.
const MAX_LIMITS: usize = 100;

/// Reads a list of limits. Returns `None` if any of them is invalid. A remote store accepts fewer limits.
pub(super) fn read(
    diagnostics: &mut Diagnostics<'_>,
    value: &Value<'_>,
    is_remote: bool,
) -> Option<Vec<Limit>> {
    let lines = value.list(diagnostics, EXPECTED)?;
    let max = if is_remote { tollgate_redis::MAX_LIMITS } else { MAX_LIMITS };
    if lines.len() > max {
        let store = if is_remote { " for a store other than memory:" } else { "" };
        let count = lines.len();
        value.error(diagnostics, || format!("has {count} limits; expected at most {max}{store}"));
        return None;
    }
    let limits: Vec<Limit> = lines.iter().filter_map(|line| limit(diagnostics, line)).collect();
    (limits.len() == lines.len()).then_some(limits)
}

fn limit(diagnostics: &mut Diagnostics<'_>, value: &Value<'_>) -> Option<Limit> {
    let line = value.text(diagnostics, "a limit, such as \"gcra 100/s burst 200\"")?;
    if line.len() > MAX_LINE_BYTES {
        let size = line.len();
        value.error(diagnostics, || format!("has {size} bytes; expected at most {MAX_LINE_BYTES}"));
        return None;
    }
    match line.parse::<Limit>() {
        Ok(limit) => Some(limit),
        Err(error) => {
            // If the string has escapes, only the position of the whole string is known.
            let offset = diagnostics.source(value.span()).find(line);
            let column = offset.and_then(|start| Some(start + error.column()?));
            diagnostics.error(value.at() + column.unwrap_or(0), error.to_string());
            None
        }
    }
}
