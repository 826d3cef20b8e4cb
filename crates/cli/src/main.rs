//! The binary `tollgate`: what a limit would do, on the command line.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 fine; 1 the
//! answer is no; 2 could not run.

#![forbid(unsafe_code)]

mod args;
mod check;
mod explain;
mod file;
mod remote;
mod serve;
mod simulate;
mod validate;

use std::io::{self, Write};
use std::process::ExitCode;

use args::{Args, Command};
use clap::{CommandFactory, Parser};

/// Whether the answer is yes, for commands that ask something.
enum Answer {
    Yes,
    No,
}

fn main() -> ExitCode {
    let args = Args::parse();
    args.color.set();
    match run(args.command) {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("{}error:{} {error:#}", args::ERROR, args::ERROR.render_reset());
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> anyhow::Result<Answer> {
    match command {
        Command::Serve(args) => serve::run(&args).map(|()| Answer::Yes),
        Command::Check(args) => check::run(&args),
        Command::Simulate(args) => simulate::run(&args).map(|()| Answer::Yes),
        Command::Explain(args) => explain::run(&args).map(|()| Answer::Yes),
        Command::Validate(args) => validate::run(&args),
        Command::Completions { shell } => {
            let (mut command, mut script) = (Args::command(), Vec::new());
            clap_complete::generate(shell, &mut command, "tollgate", &mut script);
            io::stdout().write_all(&script)?;
            Ok(Answer::Yes)
        }
    }
}

/// Whoever read our output has seen enough: `tollgate simulate … | head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
}
