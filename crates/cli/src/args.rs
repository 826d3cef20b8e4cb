//! What can be typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anstream::ColorChoice;
use clap::builder::styling::{AnsiColor, Style};
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use tollgate_core::Limit;
use tollgate_server::Listen;
use tracing_subscriber::filter::LevelFilter;

pub(crate) const ALLOWED: Style = AnsiColor::Green.on_default();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Say "this much, no more", and see what it would do.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Try:  tollgate serve")]
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
    Check(Check),
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

/// Answer checks over HTTP and the Redis protocol
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a config there is the policy \"default\" of the --limit lines, and CL.THROTTLE, which brings
its limit along. What is given here goes before what the config says. The config is read anew when
it changes and on SIGHUP; one with mistakes changes nothing. Ctrl-C finishes what is in flight,
then stops.

Examples:
  tollgate serve
  tollgate serve --limit 'gcra 100/s burst 200' --limit 'fixed-window 100000/day'
  tollgate serve --config tollgate.toml --store redis://127.0.0.1:6379

  curl --json '{\"key\": \"user-42\"}' http://127.0.0.1:8080/v1/check
  redis-cli -p 6380 CL.THROTTLE user-42 15 30 60
  redis-cli -p 6380 TG.CHECK default user-42 COST 5")]
pub(crate) struct Serve {
    /// A config file in TOML: policies, addresses, bounds
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// A limit line of the policy "default"; give several to check them together, all or nothing
    #[arg(long = "limit", value_name = "LINE")]
    pub(crate) limits: Vec<Limit>,

    /// Where HTTP is spoken [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR|off")]
    pub(crate) http: Option<Listen>,

    /// Where the Redis protocol is spoken [default: 127.0.0.1:6380]
    #[arg(long, value_name = "ADDR|off")]
    pub(crate) resp: Option<Listen>,

    /// Where state is kept: memory:, redis://host:port, rediss://… (TLS), redis+cluster://host:port,…
    /// or redis+sentinel://host:port,…/name [default: memory:]
    #[arg(long, value_name = "URL", value_parser = store_url)]
    pub(crate) store: Option<String>,

    /// How many threads share the connections [default: one for each processor]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// How logs are written, to standard error
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) log: Log,

    /// What is logged: error, warn, info, debug or off
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log_level: LevelFilter,

    /// Listen where other machines can reach it, though there is no TLS and no password yet
    #[arg(long)]
    pub(crate) insecure: bool,
}

/// Ask a running server whether a key may pass
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The exit code is 0 if it may pass, 1 if not, 2 if there was no answer.

Examples:
  tollgate check default user-42
  tollgate check login ip=203.0.113.9 user=42 --cost 5
  tollgate check default user-42 --peek --json")]
pub(crate) struct Check {
    /// Where the server is
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) server: String,

    /// The policy
    pub(crate) policy: String,

    /// The key; for limits with "per ip", ip=203.0.113.9
    #[arg(required_unless_present = "key", value_name = "KEY")]
    pub(crate) keys: Vec<String>,

    /// A key that holds a = and is nobody's by name
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,

    /// How much it takes
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) cost: u64,

    /// Only look: take nothing
    #[arg(long)]
    pub(crate) peek: bool,

    /// Print the server's answer as it is
    #[arg(long)]
    pub(crate) json: bool,
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

/// How logs are written.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Log {
    /// For people
    Text,
    /// For programs: one object a line
    Json,
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

/// Where state is kept.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    Memory,
    Redis(String),
}

/// The URL of a store that could be there.
fn store_url(url: &str) -> Result<String, String> {
    store(url).map(|store| match store {
        Store::Memory => String::from("memory:"),
        Store::Redis(url) => url,
    })
}

fn store(url: &str) -> Result<Store, String> {
    if matches!(url, "memory:" | "memory") {
        return Ok(Store::Memory);
    }
    let known = tollgate_redis::RedisStore::builder(url).build();
    known.map(|_| Store::Redis(url.to_owned())).map_err(|error| format!("{error}, or memory:"))
}
