//! Lists of limit lines.

use tollgate_core::Limit;

use super::diagnostics::Diagnostics;
use super::read::Value;

/// The longest limit line. A longer one would be repeated in its mistake.
const MAX_LINE_BYTES: usize = 1024;

const EXPECTED: &str = "a list of limit lines, such as [\"gcra 100/s burst 200\"]";

/// The most limits of a policy. Every one of them is looked at for every check.
const MAX_LIMITS: usize = 100;

/// The limits of a list; `None` if there is any mistake in it. A far store takes fewer of them.
pub(super) fn read(
    found: &mut Diagnostics<'_>,
    value: &Value<'_>,
    is_remote: bool,
) -> Option<Vec<Limit>> {
    let lines = value.list(found, EXPECTED)?;
    let most = if is_remote { tollgate_redis::MAX_LIMITS } else { MAX_LIMITS };
    if lines.len() > most {
        let store = if is_remote { " where the store is not memory:" } else { "" };
        let is = format!("a list of {} limits", lines.len());
        value.wrong(found, &is, &format!("at most {most}{store}"));
        return None;
    }
    let limits: Vec<Limit> = lines.iter().filter_map(|line| limit(found, line)).collect();
    (limits.len() == lines.len()).then_some(limits)
}

fn limit(found: &mut Diagnostics<'_>, value: &Value<'_>) -> Option<Limit> {
    let line = value.text(found, "a limit line, such as \"gcra 100/s burst 200\"")?;
    if line.len() > MAX_LINE_BYTES {
        let is = format!("of {} bytes", line.len());
        value.wrong(found, &is, &format!("at most {MAX_LINE_BYTES}"));
        return None;
    }
    match line.parse::<Limit>() {
        Ok(limit) => Some(limit),
        Err(error) => {
            // If it is escaped, only the place of the whole is known.
            let within = found.written(value.span()).find(line);
            let column = within.and_then(|start| Some(start + error.column()?));
            found.mistake(value.at() + column.unwrap_or(0), error.to_string());
            None
        }
    }
}
