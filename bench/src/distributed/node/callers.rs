//! The callers of a node: each checks one key after the other, and waits for every answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time;

use super::NodeLimiter;
use super::tally::Tally;
use crate::distributed::clock;
use crate::distributed::pass::Pass;

/// After so many checks a caller lets others run. A check that is answered at once does not do so by itself,
/// and what a limiter does in the background would have to wait.
const CHECKS_IN_A_ROW: usize = 64;
/// One in so many checks is timed at full speed: reading the clock takes longer than some checks do.
const TIMED: usize = 16;

pub(super) struct Callers<L: NodeLimiter> {
    pub(super) limiter: Arc<L>,
    pub(super) keys: Arc<[L::Key]>,
    pub(super) count: usize,
}

impl<L: NodeLimiter> Callers<L> {
    pub(super) async fn at_full_speed(&self, length: Duration) -> anyhow::Result<Pass> {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        let start = Instant::now();
        for number in 0..self.count {
            tasks.spawn(self.caller(number).check_until(Arc::clone(&is_over)));
        }
        time::sleep(length).await;
        is_over.store(true, Ordering::Relaxed);
        let tally = sum(tasks).await?;
        Ok(tally.into_pass(start.elapsed()))
    }

    /// Sends `rate` checks per second, evenly. The callers take turns.
    pub(super) async fn paced(&self, length: Duration, rate: u32) -> anyhow::Result<Pass> {
        let (start, step) = (time::Instant::now(), Duration::from_secs(1) / rate);
        let mut tasks = JoinSet::new();
        for number in 0..self.count {
            let offset = step * u32::try_from(number)?;
            let every = step * u32::try_from(self.count)?;
            let times = (0..).map(move |turn| offset + every * turn);
            let times = times.take_while(move |time| *time < length).map(move |time| start + time);
            tasks.spawn(self.caller(number).check_at(times));
        }
        let tally = sum(tasks).await?;
        Ok(tally.into_pass(length))
    }

    /// Returns a caller. Each begins with another key.
    fn caller(&self, number: usize) -> Caller<L> {
        Caller {
            limiter: Arc::clone(&self.limiter),
            keys: Arc::clone(&self.keys),
            first: self.keys.len() * number / self.count,
        }
    }
}

async fn sum(mut tasks: JoinSet<anyhow::Result<Tally>>) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    while let Some(done) = tasks.join_next().await {
        tally.add(done??);
    }
    Ok(tally)
}

struct Caller<L: NodeLimiter> {
    limiter: Arc<L>,
    keys: Arc<[L::Key]>,
    /// Index of its first key.
    first: usize,
}

impl<L: NodeLimiter> Caller<L> {
    async fn check_until(self, is_over: Arc<AtomicBool>) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        let keys = self.keys.iter().cycle().skip(self.first);
        for (number, key) in keys.enumerate() {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let start = number.is_multiple_of(TIMED).then(Instant::now);
            tally.allowed += u64::from(self.limiter.check(key).await?);
            tally.checks += 1;
            tally.latencies.extend(start.map(|start| start.elapsed()));
            if (number + 1).is_multiple_of(CHECKS_IN_A_ROW) {
                tokio::task::yield_now().await;
            }
        }
        Ok(tally)
    }

    async fn check_at(self, times: impl Iterator<Item = time::Instant>) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        let keys = self.keys.iter().cycle().skip(self.first);
        for (time, key) in times.zip(keys) {
            time::sleep_until(time).await;
            let sent = clock::now();
            let allowed = self.limiter.check(key).await?;
            let answered = clock::now();
            tally.checks += 1;
            tally.latencies.push(answered - sent);
            if allowed {
                tally.allowed += 1;
                tally.admissions.push([sent, answered].map(clock::nanos));
            }
        }
        Ok(tally)
    }
}
