//! The command line.

use clap::{Parser, Subcommand};

use crate::distributed::{DistributedArgs, DistributedNodeArgs};
use crate::in_process::InProcessArgs;
use crate::redis::{RedisArgs, RedisClientArgs};
use crate::server::{ServeArgs, ServerArgs};

#[derive(Parser)]
#[command(name = "bench", about = "Compares the speed and memory of Tollgate with its peers")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Checks within one process: time per check, memory per key
    InProcess(InProcessArgs),
    /// Populates one system and prints the bytes it took; `in-process` starts it for each system
    #[command(hide = true)]
    Populate { system: String, keys: u64 },
    /// Checks over one Redis, 50 in flight: checks per second, CPU time of client and server
    Redis(RedisArgs),
    /// Our client, which `redis` starts for each of our systems
    #[command(hide = true)]
    RedisClient(RedisClientArgs),
    /// Several nodes on one store: checks per second, calls of the store, over-admission
    Distributed(DistributedArgs),
    /// A node, which `distributed` starts
    #[command(hide = true)]
    DistributedNode(DistributedNodeArgs),
    /// Servers on one core, the load on the other: requests per second of CPU time
    Server(ServerArgs),
    /// Our server, which `server` starts
    #[command(hide = true)]
    Serve(ServeArgs),
}
