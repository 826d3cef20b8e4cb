//! What can be typed.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
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
    Serve(Serve),
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

/// Answer checks from any Redis client
#[derive(Debug, clap::Args)]
#[command(after_help = "\
CL.THROTTLE brings its limit along; TG.CHECK, TG.PEEK, TG.REFUND, TG.CHARGE, TG.RESET, TG.RESERVE,
TG.SETTLE, TG.RELEASE and TG.RENEW ask for a policy by its name. --limit lines make the policy
\"default\". Ctrl-C finishes what is in flight, then stops.

Examples:
  tollgate serve
  tollgate serve --limit 'gcra 100/s burst 200' --limit 'fixed-window 100000/day'
  tollgate serve --store redis://127.0.0.1:6379 --resp 127.0.0.1:7000

  redis-cli -p 6380 CL.THROTTLE user-42 15 30 60
  redis-cli -p 6380 TG.CHECK default user-42 COST 5")]
pub(crate) struct Serve {
    /// A limit line of the policy "default"; give several to check them together, all or nothing
    #[arg(long = "limit", value_name = "LINE")]
    pub(crate) limits: Vec<Limit>,

    /// Where the Redis protocol is spoken
    #[arg(long, value_name = "ADDR|off", default_value = "127.0.0.1:6380", value_parser = listen)]
    pub(crate) resp: Listen,

    /// Where state is kept: memory:, redis://host:port, rediss://… (TLS), redis+cluster://host:port,…
    /// or redis+sentinel://host:port,…/name
    #[arg(long, value_name = "URL", default_value = "memory:", value_parser = store)]
    pub(crate) store: Store,

    /// How many threads share the connections [default: one for each processor]
    #[arg(long, value_name = "N")]
    pub(crate) loops: Option<NonZeroUsize>,

    /// Listen where other machines can reach it, though there is no TLS and no password yet
    #[arg(long)]
    pub(crate) insecure: bool,
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
  tollgate simulate --limit 'gcra 5/s' --limit 'fixed-window 1000/day' --json < trace.jsonl
  tollgate simulate --limit 'gcra 5/s' --store redis://127.0.0.1:6379 --trace examples/retry-storm.jsonl

On Redis a run has a prefix of its own, and deletes its keys at the end.")]
pub(crate) struct Simulate {
    /// A limit line; give several to check them together, all or nothing
    #[arg(long = "limit", value_name = "LINE", required = true)]
    pub(crate) limits: Vec<Limit>,

    /// Where state is kept: memory:, redis://host:port, rediss://… (TLS), redis+cluster://host:port,…
    /// or redis+sentinel://host:port,…/name
    #[arg(long, value_name = "URL", default_value = "memory:", value_parser = store)]
    pub(crate) store: Store,

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

/// Where to listen, if at all.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Listen {
    At(SocketAddr),
    Off,
}

fn listen(text: &str) -> Result<Listen, String> {
    match text {
        "off" => Ok(Listen::Off),
        _ => text.parse().map(Listen::At).map_err(|_| {
            String::from("expected an address with a port, such as 127.0.0.1:6380, or off")
        }),
    }
}

/// Where state is kept.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    Memory,
    Far(String),
}

fn store(url: &str) -> Result<Store, String> {
    if matches!(url, "memory:" | "memory") {
        return Ok(Store::Memory);
    }
    let known = tollgate_redis::RedisStore::builder(url).make();
    known.map(|_| Store::Far(url.to_owned())).map_err(|error| format!("{error}, or memory:"))
}
