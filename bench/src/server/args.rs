//! The arguments of `server` and `serve`.

use clap::ValueEnum;
use clap::builder::PossibleValuesParser;

use crate::options::Options;
use crate::server::bench;

/// Fewer than in process, since the turns are longer.
const MIN_ROUNDS: usize = 5;

#[derive(clap::Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    pub(crate) options: Options,
    /// Run only this bench; can be repeated
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::from(bench::NAMES))]
    only: Vec<String>,
}

#[derive(clap::Args)]
pub(crate) struct ServeArgs {
    pub(crate) protocol: Protocol,
    pub(crate) port: u16,
    pub(crate) threads: usize,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Protocol {
    Resp,
    Http,
}

impl ServerArgs {
    pub(crate) fn rounds(&self) -> anyhow::Result<usize> {
        self.options.rounds(MIN_ROUNDS)
    }

    pub(crate) fn includes(&self, bench: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == bench)
    }
}
