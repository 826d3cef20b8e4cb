//! What the server says while it runs: to standard error, for people or for programs.

use std::io;

use anstream::{AutoStream, ColorChoice};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, fmt};

use super::traces;
use crate::args::Log;

/// From here on whatever is logged is written, and traces are sent if somebody collects them.
pub(super) fn begin(form: Log, level: LevelFilter) -> anyhow::Result<traces::Sending> {
    let lines = fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(AutoStream::choice(&io::stderr()) != ColorChoice::Never)
        .with_target(false);
    let lines = match form {
        Log::Text => lines.with_filter(level).boxed(),
        Log::Json => lines.json().flatten_event(true).with_filter(level).boxed(),
    };
    let sending = traces::Sending::begin()?;
    // If someone logs already, they go on.
    let _ = Registry::default().with(lines).with(sending.layer()).try_init();
    Ok(sending)
}
