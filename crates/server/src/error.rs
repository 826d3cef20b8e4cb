//! Errors in words.

use std::error::Error;

/// An error with all that led to it, in one line.
pub(crate) fn in_words(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let told = cause.to_string();
        // Some tell their cause themselves.
        if !words.ends_with(&told) {
            words.push_str(": ");
            words.push_str(&told);
        }
        source = cause.source();
    }
    words
}

/// How many bytes of what was sent an error tells.
pub(crate) const MAX_TOLD: usize = 128;

/// As much of a word as is told.
pub(crate) fn cut(word: &[u8]) -> &[u8] {
    word.get(..MAX_TOLD).unwrap_or(word)
}

/// The same as text.
pub(crate) fn told(word: &[u8]) -> String {
    String::from_utf8_lossy(cut(word)).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let words = |told| in_words(&Failed(told, io::Error::other("broken pipe")));
        assert_eq!(words("it is gone"), "it is gone: broken pipe");
        assert_eq!(words("it is gone: broken pipe"), "it is gone: broken pipe");
    }

    #[derive(Debug)]
    struct Failed(&'static str, io::Error);

    impl std::fmt::Display for Failed {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Failed {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.1)
        }
    }
}
