//! What can be typed.

use std::path::PathBuf;

use anstream::ColorChoice;
use clap::builder::styling::{AnsiColor, Style};
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use tollgate_core::Limit;

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Say "this much, no more", and see what it would do.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Try:  tollgate explain 'gcra 30/min burst 16'")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Simulate(Simulate),
    Explain(Explain),
    Validate(Validate),
    /// Print a script that completes commands in your shell
    #[command(
        after_help = "Example:\n  tollgate completions bash > ~/.local/share/bash-completion/completions/tollgate"
    )]
    Completions {
        /// Which shell
        shell: Shell,
    },
}

/// Run a trace through limits and show each decision
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The trace has one JSON object a line. Only t_ms is needed:
  {\"t_ms\": 1500.25, \"key\": \"a\", \"cost\": 1, \"op\": \"check\"}
op is check, peek, refund, charge, reset, reserve, settle, release or renew; the last four and
safe retries take an \"id\". Limits with \"per ip\" take \"keys\": {\"ip\": \"203.0.113.9\"}.
Times are milliseconds since the epoch and need not be sorted.

Examples:
  tollgate simulate --limit 'gcra 5/s burst 10' --trace examples/retry-storm.jsonl
  tollgate simulate --limit 'gcra 5/s' --limit 'fixed-window 1000/day' --json < trace.jsonl")]
pub(crate) struct Simulate {
    /// A limit line; give several to check them together, all or nothing
    #[arg(long = "limit", value_name = "LINE", required = true)]
    pub(crate) limits: Vec<Limit>,

    /// Where state is kept
    #[arg(long, value_name = "URL", default_value = "memory:", value_parser = memory_only)]
    pub(crate) store: String,

    /// The trace; - is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) trace: PathBuf,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say in plain words what a limit means, and draw it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate explain 'gcra 30/min burst 16'
  tollgate explain 'fixed-window 1000/day tz Europe/Amsterdam per user'")]
pub(crate) struct Explain {
    /// A limit line, such as 'sliding-window 100/min'; quotes may be left out
    #[arg(value_name = "LINE", required = true)]
    pub(crate) words: Vec<String>,
}

/// Check the limits in a file and report every mistake
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file has one limit a line (# begins a comment), or is a TOML config whose policies have
limits. Exit code 1 if there are mistakes.

Examples:
  tollgate validate limits.txt
  tollgate validate tollgate.toml")]
pub(crate) struct Validate {
    /// The file; one that ends in .toml is read as a config
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Print one JSON object for each mistake
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    pub(crate) fn set(self) {
        match self {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

fn memory_only(url: &str) -> Result<String, String> {
    match url {
        "memory:" | "memory" => Ok("memory:".to_owned()),
        _ => Err("this version keeps state in memory only; expected memory:".to_owned()),
    }
}
