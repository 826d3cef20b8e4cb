//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anstream::ColorChoice;
use clap::builder::styling::{AnsiColor, Style};
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use tollgate_core::Limit;
use tollgate_server::Listen;
use tracing_subscriber::filter::LevelFilter;

use crate::cost::Cost;

pub(crate) const ALLOWED: Style = AnsiColor::Green.on_default();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();

/// An exact, fast rate limiter: run it as a server, or see what a limit would do.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "\
Examples:
  tollgate serve
  tollgate explain 'gcra 30/min burst 16'")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colours
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
    /// Print a completion script for your shell
    #[command(
        after_help = "Example:\n  tollgate completions bash > ~/.local/share/bash-completion/completions/tollgate"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    Man(Man),
}

/// Run the server: checks over HTTP and the Redis protocol
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a config file the server has one policy, \"default\", with the --limit lines. CL.THROTTLE needs
no policy. Command-line flags override the config file. The config file is reloaded when it changes
and on SIGHUP; if it has errors, the server keeps its current config. Ctrl-C and SIGTERM finish the
requests in flight, then stop the server.

Examples:
  tollgate serve
  tollgate serve --limit 'gcra 100/s burst 200' --limit 'fixed-window 100000/day'
  tollgate serve --config tollgate.toml --store redis://127.0.0.1:6379

  curl --json '{\"key\": \"user-42\"}' http://127.0.0.1:8080/v1/check
  redis-cli -p 6380 CL.THROTTLE user-42 15 30 60
  redis-cli -p 6380 TG.CHECK default user-42 COST 5")]
pub(crate) struct Serve {
    /// Config file (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// A limit of the policy "default"; repeat it to check several limits together, all or nothing
    #[arg(long = "limit", value_name = "LINE")]
    pub(crate) limits: Vec<Limit>,

    /// Address for HTTP [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR|off")]
    pub(crate) http: Option<Listen>,

    /// Address for the Redis protocol [default: 127.0.0.1:6380]
    #[arg(long, value_name = "ADDR|off")]
    pub(crate) resp: Option<Listen>,

    /// Store: memory:, redis://host:port, rediss://… (TLS), redis+cluster://host:port,… or
    /// redis+sentinel://host:port,…/name [default: memory:]
    #[arg(long, value_name = "URL", value_parser = store_url)]
    pub(crate) store: Option<String>,

    /// Number of worker threads [default: number of processors]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Format of the log, which goes to standard error
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log: Log,

    /// Log level: error, warn, info, debug or off
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log_level: LevelFilter,

    /// Allow addresses that other machines can reach, although there is no TLS and no authentication
    #[arg(long)]
    pub(crate) insecure: bool,
}

/// Check a key on a running server
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code: 0 if allowed, 1 if denied, 2 if the check failed.

Examples:
  tollgate check default user-42
  tollgate check login ip=203.0.113.9 user=42 --cost 5
  tollgate check model user-42 --cost 1 --cost tokens=850
  tollgate check default user-42 --peek --json")]
pub(crate) struct Check {
    /// URL of the server
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) server: String,

    /// Name of the policy
    pub(crate) policy: String,

    /// The key; for limits with "per ip": ip=203.0.113.9
    #[arg(required_unless_present = "key", value_name = "KEY")]
    pub(crate) keys: Vec<String>,

    /// A key without a name that contains =
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,

    /// Cost of the check; for limits with "of tokens": tokens=850. Repeat it for several units [default: 1]
    #[arg(long = "cost", value_name = "[UNIT=]N")]
    pub(crate) costs: Vec<Cost>,

    /// Only look: do not take the cost
    #[arg(long)]
    pub(crate) peek: bool,

    /// Print the JSON of the server's response
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a trace through limits and print each decision
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The trace has one JSON object per line. Only t_ms is required:
  {\"t_ms\": 1500.25, \"key\": \"a\", \"cost\": 1, \"op\": \"check\"}
op is check, peek, refund, charge, reset, reserve, settle, release or renew. The last four require
an \"id\"; with the others it makes a retry safe. Limits with \"per ip\" require
\"keys\": {\"ip\": \"203.0.113.9\"}; limits with \"of tokens\" take \"costs\": {\"tokens\": 850}.
Times are milliseconds since the epoch and need not be sorted.
On Redis each run uses a key prefix of its own and deletes its keys at the end.

Examples:
  tollgate simulate --limit 'gcra 5/s burst 10' --trace examples/retry-storm.jsonl
  tollgate simulate --limit 'gcra 5/s' --limit 'fixed-window 1000/day' --json < trace.jsonl
  tollgate simulate --limit 'gcra 5/s' --store redis://127.0.0.1:6379 --trace examples/retry-storm.jsonl")]
pub(crate) struct Simulate {
    /// A limit; repeat it to check several limits together, all or nothing
    #[arg(long = "limit", value_name = "LINE", required = true)]
    pub(crate) limits: Vec<Limit>,

    /// Store: memory:, redis://host:port, rediss://… (TLS), redis+cluster://host:port,… or
    /// redis+sentinel://host:port,…/name
    #[arg(long, value_name = "URL", default_value = "memory:", value_parser = store)]
    pub(crate) store: Store,

    /// Trace file; - is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) trace: PathBuf,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Explain a limit in plain words, with a picture
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate explain 'gcra 30/min burst 16'
  tollgate explain 'fixed-window 1000/day tz Europe/Amsterdam per user'")]
pub(crate) struct Explain {
    /// A limit, such as 'sliding-window 100/min'; the quotes are optional
    #[arg(value_name = "LINE", required = true)]
    pub(crate) words: Vec<String>,
}

/// Check a config file or a file of limits, and report every error
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A file that ends in .toml is read as a config file. Any other file has one limit per line;
# begins a comment. Exit code: 0 if the file is valid, 1 if it has errors.

Examples:
  tollgate validate limits.txt
  tollgate validate tollgate.toml")]
pub(crate) struct Validate {
    /// The file to check
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Print one JSON object for each error
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print manual pages
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate man | man -l -
  tollgate man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Write tollgate.1 and a page for each command to this directory instead
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// Format of the log.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Log {
    /// Plain text
    Text,
    /// One JSON object per line
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

/// The store of a simulation.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    Memory,
    /// Redis, Valkey, Sentinel or Cluster at this URL.
    Redis(String),
}

/// Parses the URL of a store.
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
    let valid = tollgate_redis::RedisStore::builder(url).build();
    valid.map(|_| Store::Redis(url.to_owned())).map_err(|error| format!("{error}, or memory:"))
}
