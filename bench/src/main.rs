//! How fast and how small tollgate is, beside its peers.
//!
//! Figures go to standard output, progress and remarks to standard error. Exit codes: 0 measured;
//! 2 could not run. A goal that was missed is a figure like any other.

mod args;
mod command;
mod goals;
mod in_process;
mod keys;
mod machine;
mod memory;
mod progress;
mod redis;
mod report;
mod rounds;
mod server;
mod threads;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::InProcess(args) => in_process::run(&args),
        Command::Fill { system, keys } => in_process::fill(&system, keys),
        Command::Redis(args) => redis::run(&args),
        Command::RedisClient(args) => redis::serve(&args),
        Command::Server(args) => server::run(&args),
        Command::Serve(args) => server::serve(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
