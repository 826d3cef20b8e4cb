//! The binary `tollgate`: the server and the tools around it.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 success; 1 a
//! check was denied or a file has errors; 2 the command failed.

#![forbid(unsafe_code)]

mod args;
mod check;
mod cost;
mod explain;
mod file;
mod man;
mod outcome;
mod remote;
mod serve;
mod simulate;
mod validate;

use std::io::{self, Write};
use std::process::ExitCode;

use args::{Args, Command};
use clap::{CommandFactory, Parser};
use outcome::Outcome;

fn main() -> ExitCode {
    let args = Args::parse();
    args.color.set();
    match run(args.command) {
        Ok(Outcome::Positive) => ExitCode::SUCCESS,
        Ok(Outcome::Negative) => ExitCode::from(1),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("{}error:{} {error:#}", args::ERROR, args::ERROR.render_reset());
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Serve(args) => serve::run(&args).map(|()| Outcome::Positive),
        Command::Check(args) => check::run(&args),
        Command::Simulate(args) => simulate::run(&args).map(|()| Outcome::Positive),
        Command::Explain(args) => explain::run(&args).map(|()| Outcome::Positive),
        Command::Validate(args) => validate::run(&args),
        Command::Completions { shell } => {
            let (mut command, mut script) = (Args::command(), Vec::new());
            clap_complete::generate(shell, &mut command, "tollgate", &mut script);
            io::stdout().write_all(&script)?;
            Ok(Outcome::Positive)
        }
        Command::Man(args) => man::run(&args).map(|()| Outcome::Positive),
    }
}

/// Returns whether the reader of our output closed the pipe, as in `tollgate simulate … | head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
}
