//! Our client, as a program of its own: `redis-client PORT KEYS IN_FLIGHT SYSTEM`.
//!
//! All tasks share one store and its one connection, on one thread.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime;
use tokio::task::JoinSet;
use tollgate_core::{Act, Apply, Decision, Items, Name, Op, Policy, Request, Store, StoreError};
use tollgate_redis::RedisStore;

use crate::redis::args::RedisClientArgs;
use crate::redis::client::Pass;
use crate::redis::system::{self, System, SystemKind};

struct Ours {
    store: RedisStore,
    policy: Policy,
    keys: Vec<String>,
    /// Number of keys in one call.
    batch: usize,
}

/// Reads requests from standard input until it ends.
pub(crate) fn run_client(args: &RedisClientArgs) -> anyhow::Result<()> {
    let system =
        system::find(&args.system).with_context(|| format!("unknown system {:?}", args.system))?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let ours = Arc::new(runtime.block_on(Ours::connect(system, args.port, &args.keys))?);
    println!("{}", system.name);
    for line in io::stdin().lines() {
        let pass = runtime.block_on(measure(&ours, parse_range(&line?)?, args.in_flight))?;
        println!("{}", serde_json::to_string(&pass)?);
    }
    Ok(())
}

/// Reads `FROM COUNT`.
fn parse_range(line: &str) -> anyhow::Result<Range<usize>> {
    let (from, count) = line.split_once(' ').context("expected FROM COUNT")?;
    let from: usize = from.parse()?;
    let count: usize = count.parse()?;
    Ok(from..from + count)
}

async fn measure(ours: &Arc<Ours>, keys: Range<usize>, in_flight: usize) -> anyhow::Result<Pass> {
    let checks = keys.len() as u64;
    let (start, cpu_start) = (Instant::now(), cpu_time());
    let allowed = check_all(ours, keys, in_flight).await?;
    let cpu_seconds = (cpu_time() - cpu_start).as_secs_f64();
    Ok(Pass { checks, allowed, seconds: start.elapsed().as_secs_f64(), cpu_seconds })
}

/// Returns the CPU time of this process, in user and system mode.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.try_into().expect("CPU time is not negative")
}

/// Checks these keys, `in_flight` at a time. Returns how many were allowed.
async fn check_all(ours: &Arc<Ours>, keys: Range<usize>, in_flight: usize) -> anyhow::Result<u64> {
    let next = Arc::new(AtomicUsize::new(keys.start));
    let mut tasks = JoinSet::new();
    // A batch counts as many checks in flight as it has keys.
    for _ in 0..in_flight / ours.batch {
        tasks.spawn(check_some(Arc::clone(ours), Arc::clone(&next), keys.end));
    }
    let mut allowed = 0;
    while let Some(done) = tasks.join_next().await {
        allowed += done??;
    }
    Ok(allowed)
}

async fn check_some(ours: Arc<Ours>, next: Arc<AtomicUsize>, end: usize) -> anyhow::Result<u64> {
    let mut allowed = 0;
    loop {
        let from = next.fetch_add(ours.batch, Ordering::Relaxed);
        if from >= end {
            return Ok(allowed);
        }
        allowed += match &ours.keys[from..end.min(from + ours.batch)] {
            [key] => ours.check(key).await?,
            keys => ours.check_batch(keys).await?,
        };
    }
}

impl Ours {
    async fn connect(system: &System, port: u16, keys: &Path) -> anyhow::Result<Ours> {
        let SystemKind::Ours { lines, batch } = system.kind else {
            anyhow::bail!("{} is not ours", system.name)
        };
        let keys = fs::read_to_string(keys).context("cannot read the keys")?;
        Ok(Ours {
            store: RedisStore::connect(&format!("redis://127.0.0.1:{port}")).await?,
            policy: Policy::parse(Name::default(), lines)?,
            keys: keys.lines().map(str::to_owned).collect(),
            batch,
        })
    }

    async fn check(&self, key: &str) -> anyhow::Result<u64> {
        let request = Request::of(key);
        let items = request.items(self.policy.limits())?;
        let check = request.op(self.policy.name(), &items, Act::Check)?;
        let mut decision = Err(StoreError::unanswered());
        self.apply(slice::from_ref(&check), slice::from_mut(&mut decision)).await;
        Ok(u64::from(decision?.allowed))
    }

    async fn check_batch(&self, keys: &[String]) -> anyhow::Result<u64> {
        let requests: Vec<Request<'_>> = keys.iter().map(Request::of).collect();
        let items = requests.iter().map(|request| request.items(self.policy.limits()));
        let items: Vec<Items<'_>> = items.collect::<Result<_, _>>()?;
        let checks = requests
            .iter()
            .zip(&items)
            .map(|(request, items)| request.op(self.policy.name(), items, Act::Check));
        let checks: Vec<Op<'_>> = checks.collect::<Result<_, _>>()?;
        let mut decisions = vec![Err(StoreError::unanswered()); checks.len()];
        self.apply(&checks, &mut decisions).await;
        let allowed = |decision: Result<Decision, StoreError>| Ok(u64::from(decision?.allowed));
        decisions.into_iter().map(allowed).sum()
    }

    async fn apply(&self, ops: &[Op<'_>], decisions: &mut [Result<Decision, StoreError>]) {
        if let Apply::Pending(later) = self.store.apply(ops, None, decisions) {
            later.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_fixtures::Server;

    use crate::keys;
    use crate::redis::plan::IN_FLIGHT;

    #[test]
    fn ranges_are_a_start_and_a_length() {
        assert_eq!(parse_range("100 20").unwrap(), 100..120);
        assert!(parse_range("100").is_err());
    }

    /// Otherwise a figure would include denials, which write nothing.
    #[test]
    fn all_of_ours_allow_every_check() {
        let Some(server) = Server::redis() else { return };
        let file = server.folder().join("keys");
        keys::write_file(&file, &keys::shuffled_twice(100)).unwrap();
        let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for system in system::ALL.iter().filter(|s| matches!(s.kind, SystemKind::Ours { .. })) {
            server.cli(&["flushall"]);
            let ours = runtime.block_on(Ours::connect(system, server.port(), &file)).unwrap();
            let pass = runtime.block_on(measure(&Arc::new(ours), 0..200, IN_FLIGHT)).unwrap();
            assert_eq!((pass.checks, pass.allowed), (200, 200), "{}", system.name);
            assert_eq!(server.cli(&["dbsize"]), "100", "{}", system.name);
        }
    }
}
