//! The arguments of `redis` and `redis-client`.

use std::path::PathBuf;

use crate::options::Options;
use crate::redis::system::{self, BASE};

/// Fewer than in process, since the turns are longer.
const MIN_ROUNDS: usize = 5;

#[derive(clap::Args)]
pub(crate) struct RedisArgs {
    #[command(flatten)]
    pub(crate) options: Options,
    /// Measure only this system (`gcra`) and the one that all are compared with; can be repeated
    #[arg(long, value_name = "NAME", value_parser = system::parse)]
    only: Vec<&'static str>,
}

#[derive(clap::Args)]
pub(crate) struct RedisClientArgs {
    pub(crate) port: u16,
    /// A file with one key per line
    pub(crate) keys: PathBuf,
    pub(crate) in_flight: usize,
    pub(crate) system: String,
}

impl RedisArgs {
    pub(crate) fn rounds(&self) -> anyhow::Result<usize> {
        self.options.rounds(MIN_ROUNDS)
    }

    pub(crate) fn includes(&self, system: &str) -> bool {
        self.only.is_empty() || system == BASE || self.only.contains(&system)
    }
}
