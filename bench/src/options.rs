//! Options that all benches have.

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Print one JSON object per line instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Number of rounds; each figure is their median [default and minimum: 7 for in-process, else 5]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Few rounds and little work, to see that it runs; do not quote these figures
    #[arg(long)]
    pub(crate) quick: bool,
}

impl Options {
    /// Returns the number of rounds. `min` is also the default: with fewer rounds, one busy moment of
    /// the machine could decide the median.
    pub(crate) fn rounds(&self, min: usize) -> anyhow::Result<usize> {
        let (default, min) = if self.quick { (3, 1) } else { (min, min) };
        let rounds = self.rounds.unwrap_or(default);
        anyhow::ensure!(
            rounds >= min,
            "--rounds {rounds}: expected at least {min}, or add --quick"
        );
        Ok(rounds)
    }

    pub(crate) fn warn_if_quick(&self) {
        if self.quick {
            eprintln!("--quick: few rounds and little work; do not quote these figures");
        }
    }
}
