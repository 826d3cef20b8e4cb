//! What can be typed.

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};

use crate::in_process::BENCHES;

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

/// Fewer would let one busy moment of the machine decide the median.
const LEAST_ROUNDS: usize = 7;

fn names() -> PossibleValuesParser {
    BENCHES.map(|bench| bench.name).into()
}

impl InProcess {
    pub(crate) fn rounds(&self) -> anyhow::Result<usize> {
        let (usual, least) = if self.quick { (3, 1) } else { (LEAST_ROUNDS, LEAST_ROUNDS) };
        let rounds = self.rounds.unwrap_or(usual);
        anyhow::ensure!(rounds >= least, "--rounds {rounds}: at least {least}, or add --quick");
        Ok(rounds)
    }

    pub(crate) fn wants(&self, bench: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == bench)
    }
}
