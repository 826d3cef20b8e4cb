//! `tollgate explain`: explains a limit in plain words.

use std::io::Write;

use tollgate_sim::Explanation;

use crate::args::Explain;

pub(crate) fn run(args: &Explain) -> anyhow::Result<()> {
    let explanation = Explanation::new(args.words.join(" ").parse()?);
    write!(anstream::stdout(), "{explanation}")?;
    Ok(())
}
