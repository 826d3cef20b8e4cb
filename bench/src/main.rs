//! Compares the speed and memory of Tollgate with its peers.
//!
//! Figures go to standard output, progress and messages to standard error. Exit codes: 0 measured; 2
//! failed. A missed goal is not a failure.

mod apt;
mod args;
mod client;
mod command;
mod distributed;
mod goals;
mod in_process;
mod keys;
mod machine;
mod memory;
mod options;
mod peers;
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
    let result = match Args::parse().command {
        Command::InProcess(args) => in_process::run(&args),
        Command::Populate { system, keys } => in_process::populate(&system, keys),
        Command::Redis(args) => redis::run(&args),
        Command::RedisClient(args) => redis::run_client(&args),
        Command::Distributed(args) => distributed::run(&args),
        Command::DistributedNode(args) => distributed::run_node(&args),
        Command::Server(args) => server::run(&args),
        Command::Serve(args) => server::serve(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
