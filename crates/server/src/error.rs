//! Errors in words.

use std::error::Error;

/// An error with all that led to it, in one line.
pub(crate) fn in_words(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        source = cause.source();
    }
    words
}

/// How many bytes of what was sent an error tells.
pub(crate) const MOST_TOLD: usize = 128;

/// As much of a word as is told.
pub(crate) fn cut(word: &[u8]) -> &[u8] {
    word.get(..MOST_TOLD).unwrap_or(word)
}

/// The same as text.
pub(crate) fn told(word: &[u8]) -> String {
    String::from_utf8_lossy(cut(word)).into_owned()
}
