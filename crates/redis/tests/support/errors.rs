//! Errors as text.

use std::error::Error;

/// Returns an error with all its causes, on one line.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let (mut text, mut source) = (error.to_string(), error.source());
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text.replace(['\n', '\t'], " ")
}
