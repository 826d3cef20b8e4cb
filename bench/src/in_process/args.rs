//! The arguments of `in-process`.

use clap::builder::PossibleValuesParser;

use crate::in_process::bench;
use crate::options::Options;

const MIN_ROUNDS: usize = 7;

#[derive(clap::Args)]
pub(crate) struct InProcessArgs {
    #[command(flatten)]
    pub(crate) options: Options,
    /// Run only this bench; can be repeated
    #[arg(long, value_name = "NAME", value_parser = names())]
    only: Vec<String>,
}

fn names() -> PossibleValuesParser {
    bench::ALL.map(|bench| bench.name).into()
}

impl InProcessArgs {
    pub(crate) fn rounds(&self) -> anyhow::Result<usize> {
        self.options.rounds(MIN_ROUNDS)
    }

    pub(crate) fn includes(&self, bench: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == bench)
    }
}
