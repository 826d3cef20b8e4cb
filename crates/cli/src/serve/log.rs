//! The log of the server, written to standard error as text or JSON.

use std::io;

use anstream::{AutoStream, ColorChoice};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, fmt};

use super::traces;
use crate::args::Log;

/// Starts the log, and the export of traces if a collector is configured.
pub(super) fn init(format: Log, level: LevelFilter) -> anyhow::Result<traces::TraceExport> {
    let lines = fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(AutoStream::choice(&io::stderr()) != ColorChoice::Never)
        .with_target(false);
    let lines = match format {
        Log::Text => lines.with_filter(level).boxed(),
        Log::Json => lines.json().flatten_event(true).with_filter(level).boxed(),
    };
    let traces = traces::TraceExport::start()?;
    // A subscriber that is already installed stays.
    let _ = Registry::default().with(lines).with(traces.layer()).try_init();
    Ok(traces)
}
