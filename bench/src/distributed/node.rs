//! One node, as a program of its own: `distributed-node PORT CALLERS SYSTEM SHAPE`.
//!
//! For each input line `START SECONDS RATE KEYS` all callers check the keys of the file KEYS from the instant
//! START on, for so long and at this number of checks per second (0: full speed), and the measurements are
//! printed. START is in nanoseconds of the monotonic clock, so that all nodes start together. All callers are
//! tasks on one thread, like those of Node.js.

mod callers;
mod ours;
mod tally;
mod trypema;

use std::fs;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::runtime::{self, Runtime};
use tokio::time;

use crate::distributed::args::DistributedNodeArgs;
use crate::distributed::clock;
use crate::distributed::pass::Pass;
use crate::distributed::shape::{self, Pace};
use crate::distributed::system::System;
use callers::Callers;
use ours::Ours;
use trypema::Trypema;

/// A limiter as its documentation shows it.
trait NodeLimiter: Send + Sync + 'static {
    /// A key as the limiter takes it, prepared.
    type Key: Send + Sync + 'static;

    fn key(key: &str) -> anyhow::Result<Self::Key>;

    /// Returns whether a check is allowed.
    fn check(&self, key: &Self::Key) -> impl Future<Output = anyhow::Result<bool>> + Send;
}

/// Reads requests from standard input until it ends.
pub(crate) fn run_node(args: &DistributedNodeArgs) -> anyhow::Result<()> {
    let shape = shape::find(&args.shape).context("unknown traffic")?;
    let system = System::find(&args.system).context("unknown system")?;
    let url = format!("redis://127.0.0.1:{}", args.port);
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{}", system.name());
    match system {
        System::Flexible => anyhow::bail!("{} is a program of its own", system.name()),
        System::Trypema => {
            let limiter = runtime.block_on(Trypema::connect(&url, shape))?;
            answer(&runtime, args.callers, limiter)
        }
        System::NoLayers | System::Strict | System::WriteBehind | System::Prefetch => {
            let limiter = runtime.block_on(Ours::connect(&url, shape, system))?;
            answer(&runtime, args.callers, limiter)
        }
    }
}

fn answer<L: NodeLimiter>(runtime: &Runtime, callers: usize, limiter: L) -> anyhow::Result<()> {
    let limiter = Arc::new(limiter);
    for line in io::stdin().lines() {
        let request = Request::parse::<L>(&line?)?;
        let pass = runtime.block_on(request.measure(&limiter, callers))?;
        println!("{}", serde_json::to_string(&pass)?);
    }
    Ok(())
}

/// One line of input.
struct Request<K> {
    start: Duration,
    time: Duration,
    pace: Pace,
    keys: Arc<[K]>,
}

impl<K> Request<K> {
    fn parse<L: NodeLimiter<Key = K>>(line: &str) -> anyhow::Result<Request<K>> {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().context("expected START SECONDS RATE KEYS");
        let start = Duration::from_nanos(word()?.parse()?);
        let time = Duration::try_from_secs_f64(word()?.parse()?)?;
        let pace = match word()?.parse()? {
            0 => Pace::FullSpeed,
            rate => Pace::PerSecond(rate),
        };
        let keys = fs::read_to_string(word()?).context("cannot read the keys")?;
        let keys = keys.lines().map(L::key).collect::<Result<_, _>>()?;
        Ok(Request { start, time, pace, keys })
    }

    async fn measure<L>(self, limiter: &Arc<L>, count: usize) -> anyhow::Result<Pass>
    where
        L: NodeLimiter<Key = K>,
    {
        time::sleep(self.start.saturating_sub(clock::now())).await;
        let callers = Callers { limiter: Arc::clone(limiter), keys: self.keys, count };
        match self.pace {
            Pace::FullSpeed => callers.at_full_speed(self.time).await,
            Pace::PerSecond(rate) => callers.paced(self.time, rate).await,
        }
    }
}
