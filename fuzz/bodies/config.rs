//! A config file.

use tollgate_server::{Config, Diagnostic};

/// How many mistakes are told at most.
const MOST_TOLD: usize = 100;

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let told = match Config::parse(text) {
        Ok(config) => config.unsupported,
        Err(mistakes) => {
            assert!(!mistakes.is_empty());
            mistakes
        }
    };
    assert!(told.len() <= MOST_TOLD);
    assert!(told.is_sorted_by_key(|Diagnostic { line, column, .. }| (*line, *column)));
    for mistake in &told {
        check_place(mistake, text);
    }
}

/// It is told in one line, and its place is one of the file.
fn check_place(mistake: &Diagnostic, text: &str) {
    let Diagnostic { line, column, message: what, .. } = mistake;
    assert!(!what.is_empty() && !what.contains(char::is_control), "{what:?}");
    let within = line.checked_sub(1).and_then(|before| text.split('\n').nth(before));
    let columns = within.map(|within| 1..=within.chars().count() + 1);
    assert!(columns.is_some_and(|columns| columns.contains(column)), "{mistake}");
}
