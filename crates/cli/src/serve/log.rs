//! What the server says while it runs: to standard error, for people or for programs.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::filter::LevelFilter;

use crate::args::Log;

/// From here on whatever is logged is written.
pub(super) fn begin(form: Log, level: LevelFilter) {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false);
    // If someone logs already, they go on.
    let _ = match form {
        Log::Text => subscriber.try_init(),
        Log::Json => subscriber.json().flatten_event(true).try_init(),
    };
}
