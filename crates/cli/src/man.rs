//! `tollgate man`: manual pages, generated from the same definitions as `--help`.

use std::fs;
use std::io::{self, Write};

use anyhow::Context;
use clap::{Command, CommandFactory};

use crate::args::{Args, Man};

pub(crate) fn run(args: &Man) -> anyhow::Result<()> {
    // There is no page for `tollgate help`.
    let command = Args::command().disable_help_subcommand(true);
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        io::stdout().write_all(&page)?;
        return Ok(());
    };
    let write = |command: Command| -> io::Result<()> {
        fs::create_dir_all(dir)?;
        clap_mangen::generate_to(command, dir)
    };
    write(command).with_context(|| format!("cannot write manual pages to {}", dir.display()))
}
