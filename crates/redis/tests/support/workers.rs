//! Worker processes that load a store together: this test program itself, started again.
//!
//! A test program with workers has a test named `worker` that calls [`run_worker`]. Run by hand it does
//! nothing. In a worker process it reads jobs from standard input, a line each, and writes a line with the
//! result of each. It ends with its input, so that no worker outlives the tests.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tollgate_core::{Act, Apply, Decision, Item, Key, Limit, Name, Op, Store, StoreError};
use tollgate_redis::RedisStore;

use super::errors::with_causes;
use super::operations::connect;

/// Number of worker processes.
pub(crate) const PROCESSES: u64 = 4;
/// Number of tasks in each process.
pub(crate) const TASKS: usize = 64;
/// Number of attempts of all processes together.
const ATTEMPTS: u64 = 100_000;

/// Environment variable that is set in a worker: the URL of the store.
const STORE_URL: &str = "TOLLGATE_WORKER_STORE";
/// Maximum duration of a job: a store that hangs fails the test.
const JOB_TIMEOUT: Duration = Duration::from_secs(600);
/// Separates the fields of jobs and results.
const TAB: &str = "\t";
/// What the line of a result begins with.
const RESULT: &str = "tally\t";

fn is_long() -> bool {
    env::var("TOLLGATE_LONG").as_deref() == Ok("1")
}

/// Returns how often each policy is tested.
pub(crate) fn runs() -> u32 {
    if is_long() { 20 } else { 3 }
}

/// Writes a line past the test harness, which hides what `eprintln!` writes in tests that pass.
pub(crate) fn print_line(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// The results of many attempts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) admitted: u64,
    pub(crate) denied: u64,
    /// Number of occurrences of each error.
    pub(crate) errors: BTreeMap<String, u64>,
}

impl Tally {
    fn count(&mut self, result: &Result<Decision, StoreError>) {
        match result {
            Ok(decision) if decision.allowed => self.admitted += 1,
            Ok(_) => self.denied += 1,
            Err(error) => *self.errors.entry(with_causes(error)).or_default() += 1,
        }
    }

    fn add(&mut self, other: Tally) {
        self.admitted += other.admitted;
        self.denied += other.denied;
        for (error, times) in other.errors {
            *self.errors.entry(error).or_default() += times;
        }
    }

    fn to_line(&self) -> String {
        let mut words = vec![self.admitted.to_string(), self.denied.to_string()];
        words.extend(self.errors.iter().map(|(error, times)| format!("{times} {error}")));
        words.join(TAB)
    }

    fn parse(line: &str) -> Option<Tally> {
        let mut words = line.split(TAB);
        let (admitted, denied) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let error = |word: &str| {
            let (times, error) = word.split_once(' ')?;
            Some((error.to_owned(), times.parse().ok()?))
        };
        Some(Tally { admitted, denied, errors: words.map(error).collect::<Option<_>>()? })
    }
}

/// Many attempts at one key.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) key: String,
    pub(crate) limits: Vec<String>,
    /// Number of attempts of all processes together.
    pub(crate) attempts: u64,
    /// Number of attempts in one call.
    pub(crate) batch: u64,
}

impl Job {
    /// Creates the job of one run. In every other run several attempts are made in one call.
    pub(crate) fn new(limits: &[&str], run: u32) -> Job {
        Job {
            key: format!("{limits:?} {run}"),
            limits: limits.iter().map(|line| (*line).to_owned()).collect(),
            attempts: ATTEMPTS,
            batch: if run.is_multiple_of(2) { 7 } else { 1 },
        }
    }

    /// Returns the expected results if so many are admitted.
    pub(crate) fn expected(&self, admitted: u64) -> Tally {
        Tally { admitted, denied: self.attempts - admitted, ..Tally::default() }
    }

    fn to_line(&self) -> String {
        let Job { key, limits, attempts, batch } = self;
        format!("{key}\t{attempts}\t{batch}\t{}", limits.join(TAB))
    }

    fn parse(line: &str) -> Option<Job> {
        let mut words = line.split(TAB).map(str::to_owned);
        let key = words.next()?;
        let (attempts, batch) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Job { key, attempts, batch, limits: words.collect() })
    }
}

/// Returns the name of the policy that all jobs share.
pub(crate) fn policy_name() -> Name {
    Name::new("hammer").unwrap()
}

pub(crate) fn parse_limits(lines: &[String]) -> Vec<Limit> {
    lines.iter().map(|line| line.parse().unwrap()).collect()
}

/// Applies the same operation on a key several times, in one call.
pub(crate) async fn apply_times(
    store: &RedisStore,
    (key, limits): (&str, &[Limit]),
    act: Act,
    times: usize,
) -> Vec<Result<Decision, StoreError>> {
    let (policy, subject) = (policy_name(), Key::new(key.as_bytes()).unwrap().into());
    let items: Vec<Item<'_>> =
        limits.iter().map(|limit| Item { limit, subject, cost: 1 }).collect();
    let ops = vec![Op::check(&policy, &items).with_act(act); times];
    let mut out = vec![Err(StoreError::unanswered()); times];
    if let Apply::Pending(pending) = store.apply(&ops, None, &mut out) {
        pending.await;
    }
    out
}

/// Runs jobs until standard input ends, if this process is a worker.
pub(crate) fn run_worker() {
    let Ok(url) = env::var(STORE_URL) else { return };
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let store = Arc::new(runtime.block_on(connect(&url, "tg")));
    // Says that it is connected.
    write_result(&Tally::default());
    for line in io::stdin().lock().lines() {
        let job = Job::parse(&line.unwrap()).unwrap();
        write_result(&run_job(&runtime, &store, &job));
    }
}

fn write_result(tally: &Tally) {
    // The test harness may have begun a line of its own.
    let line = format!("\n{RESULT}{}\n", tally.to_line());
    io::stdout().write_all(line.as_bytes()).unwrap();
    io::stdout().flush().unwrap();
}

fn run_job(runtime: &Runtime, store: &Arc<RedisStore>, job: &Job) -> Tally {
    let left = Arc::new(AtomicU64::new(job.attempts / PROCESSES));
    let start = || {
        let (store, job, left) = (Arc::clone(store), job.clone(), Arc::clone(&left));
        runtime.spawn(async move { attempt_all(&store, &job, &left).await })
    };
    let tasks: Vec<_> = (0..TASKS).map(|_| start()).collect();
    let mut tally = Tally::default();
    runtime.block_on(async {
        for task in tasks {
            tally.add(tokio::time::timeout(JOB_TIMEOUT, task).await.unwrap().unwrap());
        }
    });
    tally
}

/// Makes attempts until all tasks together have made as many as the job asks for.
async fn attempt_all(store: &RedisStore, job: &Job, left: &AtomicU64) -> Tally {
    let limits = parse_limits(&job.limits);
    let mut tally = Tally::default();
    let rest = |left: u64| left.checked_sub(job.batch.min(left)).filter(|rest| *rest < left);
    while let Ok(before) = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest) {
        let times = usize::try_from(job.batch.min(before)).unwrap();
        let results = apply_times(store, (&job.key, &limits), Act::Check, times).await;
        results.iter().for_each(|result| tally.count(result));
    }
    tally
}

/// Several worker processes.
pub(crate) struct Workers {
    workers: Vec<Worker>,
}

struct Worker {
    process: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Workers {
    /// Starts the processes, and waits until each is connected.
    pub(crate) fn start(url: &str) -> Workers {
        let mut workers: Vec<Worker> = (0..PROCESSES).map(|_| Worker::start(url)).collect();
        let pids: Vec<String> = workers.iter().map(|w| w.process.id().to_string()).collect();
        print_line(&format!("worker processes {}, {TASKS} tasks each", pids.join(", ")));
        for worker in &mut workers {
            worker.result();
        }
        Workers { workers }
    }

    /// Runs one job in all processes at the same time.
    pub(crate) fn run(&mut self, job: &Job) -> Tally {
        for worker in &mut self.workers {
            writeln!(worker.stdin, "{}", job.to_line()).unwrap();
        }
        let mut all = Tally::default();
        for worker in &mut self.workers {
            all.add(worker.result());
        }
        all
    }
}

impl Worker {
    fn start(url: &str) -> Worker {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "worker", "--nocapture"]).env(STORE_URL, url);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Worker { process, stdin, stdout: BufReader::new(stdout).lines() }
    }

    fn result(&mut self) -> Tally {
        let line =
            self.stdout.find_map(|line| Some(line.unwrap().split_once(RESULT)?.1.to_owned()));
        let line = line.unwrap_or_else(|| panic!("worker {} has failed", self.process.id()));
        Tally::parse(&line).unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
