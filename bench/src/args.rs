//! What can be typed.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand, ValueEnum};

use crate::in_process::BENCHES;
use crate::{redis, server};

#[derive(Parser)]
#[command(name = "bench", about = "How fast and how small tollgate is, beside its peers")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Checks within one process: time for each check, memory for each key
    InProcess(InProcess),
    /// Fills one system and prints the bytes that took; `in-process` starts it for each system
    #[command(hide = true)]
    Fill { system: String, keys: u64 },
    /// Checks over one Redis, 50 in flight: checks in a second, processor time of client and server
    Redis(Redis),
    /// Our client, which `redis` starts for each of our systems
    #[command(hide = true)]
    RedisClient(RedisClient),
    /// The server on one core, the load on the other: requests per second of processor time
    Server(ServerArgs),
    /// Our server, which `server` starts
    #[command(hide = true)]
    Serve(Serve),
}

#[derive(clap::Args)]
pub(crate) struct InProcess {
    /// One JSON object a line instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// How often each system is measured; the median counts [default: 7, the least]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Only this bench; may be given several times
    #[arg(long, value_name = "NAME", value_parser = names())]
    only: Vec<String>,
    /// Few rounds and few keys, to see that it runs; these figures are not to be quoted
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(clap::Args)]
pub(crate) struct Redis {
    /// One JSON object a line instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// How often each system is measured; the median counts [default: 5, the least]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Only this system (`gcra`), beside the one that all are compared with; may be given several
    /// times
    #[arg(long, value_name = "NAME", value_parser = redis::parse_name)]
    only: Vec<&'static str>,
    /// Few rounds and few keys, to see that it runs; these figures are not to be quoted
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(clap::Args)]
pub(crate) struct RedisClient {
    pub(crate) port: u16,
    /// A file with one key a line
    pub(crate) keys: PathBuf,
    pub(crate) in_flight: usize,
    pub(crate) system: String,
}

#[derive(clap::Args)]
pub(crate) struct ServerArgs {
    /// One JSON object a line instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// How often each system is measured; the median counts [default: 5, the least]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Only this bench; may be given several times
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::from(server::NAMES))]
    only: Vec<String>,
    /// Few rounds and few requests, to see that it runs; these figures are not to be quoted
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(clap::Args)]
pub(crate) struct Serve {
    pub(crate) protocol: Protocol,
    pub(crate) port: u16,
    pub(crate) threads: usize,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Protocol {
    Resp,
    Http,
}

/// Fewer would let one busy moment of the machine decide the median.
const LEAST_ROUNDS: usize = 7;
/// Turns are longer here.
const LEAST_ROUNDS_REDIS: usize = 5;
const LEAST_ROUNDS_SERVER: usize = 5;

fn names() -> PossibleValuesParser {
    BENCHES.map(|bench| bench.name).into()
}

fn rounds(wanted: Option<usize>, least: usize, quick: bool) -> anyhow::Result<usize> {
    let (usual, least) = if quick { (3, 1) } else { (least, least) };
    let rounds = wanted.unwrap_or(usual);
    anyhow::ensure!(rounds >= least, "--rounds {rounds}: at least {least}, or add --quick");
    Ok(rounds)
}

impl InProcess {
    pub(crate) fn rounds(&self) -> anyhow::Result<usize> {
        rounds(self.rounds, LEAST_ROUNDS, self.quick)
    }

    pub(crate) fn wants(&self, bench: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == bench)
    }
}

impl ServerArgs {
    pub(crate) fn rounds(&self) -> anyhow::Result<usize> {
        rounds(self.rounds, LEAST_ROUNDS_SERVER, self.quick)
    }

    pub(crate) fn wants(&self, bench: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == bench)
    }
}

impl Redis {
    pub(crate) fn rounds(&self) -> anyhow::Result<usize> {
        rounds(self.rounds, LEAST_ROUNDS_REDIS, self.quick)
    }

    pub(crate) fn wants(&self, system: &str) -> bool {
        self.only.is_empty() || system == redis::BASE || self.only.contains(&system)
    }
}
