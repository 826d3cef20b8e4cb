//! A config file.

use tollgate_server::{Config, Diagnostic};

/// Maximum number of diagnostics.
const MAX_DIAGNOSTICS: usize = 100;

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let diagnostics = match Config::parse(text) {
        Ok(config) => config.unsupported,
        Err(errors) => {
            assert!(!errors.is_empty());
            errors
        }
    };
    assert!(diagnostics.len() <= MAX_DIAGNOSTICS);
    assert!(diagnostics.is_sorted_by_key(|Diagnostic { line, column, .. }| (*line, *column)));
    for diagnostic in &diagnostics {
        check_position(diagnostic, text);
    }
}

/// Asserts that the message is one line and the position is inside the file.
fn check_position(diagnostic: &Diagnostic, text: &str) {
    let Diagnostic { line, column, message: what, .. } = diagnostic;
    assert!(!what.is_empty() && !what.contains(char::is_control), "{what:?}");
    let within = line.checked_sub(1).and_then(|before| text.split('\n').nth(before));
    let columns = within.map(|within| 1..=within.chars().count() + 1);
    assert!(columns.is_some_and(|columns| columns.contains(column)), "{diagnostic}");
}
