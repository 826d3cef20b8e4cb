//! Helpers for error messages.

use std::error::Error;

/// Formats an error and all its causes in one line.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        // Some errors include their cause in their own message.
        if !message.ends_with(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
        source = error.source();
    }
    message
}

/// Maximum number of bytes of the client's input that an error message quotes.
pub(crate) const MAX_EXCERPT_BYTES: usize = 128;

/// Returns the start of the client's input, as an error message quotes it.
pub(crate) fn excerpt(input: &[u8]) -> &[u8] {
    input.get(..MAX_EXCERPT_BYTES).unwrap_or(input)
}

/// Returns the [`excerpt`] as text, with invalid UTF-8 replaced.
pub(crate) fn excerpt_lossy(input: &[u8]) -> String {
    String::from_utf8_lossy(excerpt(input)).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_cause_is_not_repeated() {
        let message = |text| with_causes(&Failed(text, io::Error::other("broken pipe")));
        assert_eq!(message("it is gone"), "it is gone: broken pipe");
        assert_eq!(message("it is gone: broken pipe"), "it is gone: broken pipe");
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
