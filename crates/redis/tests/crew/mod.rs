//! Worker processes for tests: this test program itself, started again.
//!
//! A test program that has a crew has a test named `worker` that calls [`work_if_told`]. Run by hand it
//! does nothing; in a process of the crew it takes jobs from standard input, a line each, and answers
//! each with a line. It ends with its input, so that no worker outlives the tests.

use std::collections::BTreeMap;
use std::env;
use std::error::Error as _;
use std::io::{self, BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tollgate_core::{Act, Apply, Decision, Item, Key, Limit, Name, Op, Store, StoreError};
use tollgate_redis::RedisStore;

/// Operating-system processes.
pub(crate) const PROCESSES: u64 = 4;
/// Tasks in each of them.
pub(crate) const TASKS: usize = 64;
/// Attempts of all processes together.
const ATTEMPTS: u64 = 100_000;

/// Set in a worker: the address of the store.
const ADDRESS: &str = "TOLLGATE_WORKER_FOR";
/// Longer than any job takes, so that a store that hangs is a failed test.
const HANGS: Duration = Duration::from_secs(600);
/// Waiting for an answer is not what these tests are about, and the machine may be busy.
const DEADLINE: Duration = Duration::from_secs(30);
/// Separates the words of jobs and answers.
const TAB: &str = "\t";
const ANSWER: &str = "tally\t";

fn is_long() -> bool {
    env::var("TOLLGATE_LONG").as_deref() == Ok("1")
}

/// How often each policy is tried.
pub(crate) fn runs() -> u32 {
    if is_long() { 20 } else { 3 }
}

/// Writes a line past the test harness, which hides what `eprintln!` writes in tests that pass.
pub(crate) fn say(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// What the attempts came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) admitted: u64,
    pub(crate) denied: u64,
    /// How often each error was answered.
    pub(crate) errors: BTreeMap<String, u64>,
}

impl Tally {
    fn count(&mut self, answer: &Result<Decision, StoreError>) {
        match answer {
            Ok(decision) if decision.allowed => self.admitted += 1,
            Ok(_) => self.denied += 1,
            Err(error) => *self.errors.entry(in_words(error)).or_default() += 1,
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

/// An error with its cause, on one line.
pub(crate) fn in_words(error: &StoreError) -> String {
    let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    format!("{error}{source}").replace(['\n', '\t'], " ")
}

/// Many attempts at one key.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) key: String,
    pub(crate) limits: Vec<String>,
    /// How many attempts all processes make together.
    pub(crate) attempts: u64,
    /// How many of them it makes in one call.
    pub(crate) batch: u64,
}

impl Job {
    /// The job of one run: all attempts one by one, or some of them together in every other run.
    pub(crate) fn new(limits: &[&str], run: u32) -> Job {
        Job {
            key: format!("{limits:?} {run}"),
            limits: limits.iter().map(|line| (*line).to_owned()).collect(),
            attempts: ATTEMPTS,
            batch: if run.is_multiple_of(2) { 7 } else { 1 },
        }
    }

    /// What must come of it if so many fit.
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

/// The policy all jobs share.
pub(crate) fn policy() -> Name {
    Name::new("hammer").unwrap()
}

pub(crate) fn parse(lines: &[String]) -> Vec<Limit> {
    lines.iter().map(|line| line.parse().unwrap()).collect()
}

/// One operation on a key, `times` in one call.
pub(crate) async fn ask(
    store: &RedisStore,
    (key, limits): (&str, &[Limit]),
    act: Act,
    times: usize,
) -> Vec<Result<Decision, StoreError>> {
    let (policy, subject) = (policy(), Key::new(key.as_bytes()).unwrap().into());
    let items: Vec<Item<'_>> = limits.iter().map(|limit| Item { limit, subject }).collect();
    let op = Op { policy: &policy, items: &items, act, cost: 1, id: None };
    let ops = vec![op; times];
    let mut out = vec![Err(StoreError::unanswered()); times];
    if let Apply::Pending(later) = store.apply(&ops, None, &mut out) {
        later.await;
    }
    out
}

/// A store that waits long enough on a busy machine.
pub(crate) async fn connect(url: &str) -> RedisStore {
    RedisStore::builder(url).response_timeout(DEADLINE).connect().await.unwrap()
}

/// Does jobs until there are no more, if this process is a worker.
pub(crate) fn work_if_told() {
    let Ok(url) = env::var(ADDRESS) else { return };
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let store = Arc::new(runtime.block_on(connect(&url)));
    answer(&Tally::default());
    for line in io::stdin().lock().lines() {
        let job = Job::parse(&line.unwrap()).unwrap();
        answer(&work(&runtime, &store, &job));
    }
}

fn answer(tally: &Tally) {
    // The harness may have begun a line of its own.
    let line = format!("\n{ANSWER}{}\n", tally.to_line());
    io::stdout().write_all(line.as_bytes()).unwrap();
    io::stdout().flush().unwrap();
}

fn work(runtime: &Runtime, store: &Arc<RedisStore>, job: &Job) -> Tally {
    let left = Arc::new(AtomicU64::new(job.attempts / PROCESSES));
    let start = || {
        let (store, job, left) = (Arc::clone(store), job.clone(), Arc::clone(&left));
        runtime.spawn(async move { attempts(&store, &job, &left).await })
    };
    let tasks: Vec<_> = (0..TASKS).map(|_| start()).collect();
    let mut tally = Tally::default();
    runtime.block_on(async {
        for task in tasks {
            tally.add(tokio::time::timeout(HANGS, task).await.unwrap().unwrap());
        }
    });
    tally
}

/// Attempts until all tasks together have made enough.
async fn attempts(store: &RedisStore, job: &Job, left: &AtomicU64) -> Tally {
    let limits = parse(&job.limits);
    let mut tally = Tally::default();
    let rest = |left: u64| left.checked_sub(job.batch.min(left)).filter(|rest| *rest < left);
    while let Ok(before) = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest) {
        let times = usize::try_from(job.batch.min(before)).unwrap();
        let answers = ask(store, (&job.key, &limits), Act::Check, times).await;
        answers.iter().for_each(|answer| tally.count(answer));
    }
    tally
}

/// Several processes that work for this one.
pub(crate) struct Crew {
    workers: Vec<Worker>,
}

struct Worker {
    process: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Crew {
    /// Starts them; each is connected when this returns.
    pub(crate) fn new(url: &str) -> Crew {
        let mut workers: Vec<Worker> = (0..PROCESSES).map(|_| Worker::start(url)).collect();
        let pids: Vec<String> = workers.iter().map(|w| w.process.id().to_string()).collect();
        say(&format!("worker processes {}, {TASKS} tasks each", pids.join(", ")));
        for worker in &mut workers {
            worker.answer();
        }
        Crew { workers }
    }

    /// Has one job done by all of them at once.
    pub(crate) fn do_together(&mut self, job: &Job) -> Tally {
        for worker in &mut self.workers {
            writeln!(worker.orders, "{}", job.to_line()).unwrap();
        }
        let mut all = Tally::default();
        for worker in &mut self.workers {
            all.add(worker.answer());
        }
        all
    }
}

impl Worker {
    fn start(url: &str) -> Worker {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "worker", "--nocapture"]).env(ADDRESS, url);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (orders, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Worker { process, orders, answers: BufReader::new(answers).lines() }
    }

    fn answer(&mut self) -> Tally {
        let line =
            self.answers.find_map(|line| Some(line.unwrap().split_once(ANSWER)?.1.to_owned()));
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
