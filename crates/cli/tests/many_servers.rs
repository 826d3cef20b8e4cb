//! Four `tollgate serve` on one Redis, and clients that land on any of them.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use support::Serving;
use tempfile::TempDir;
use tollgate::layers::{Distribution, MAX_COALESCED, Prefetch, WriteBehind};
use tollgate_core::Limit;
use tollgate_fixtures::{Server, calls_during};

const NODES: u32 = 4;
/// How much each limit allows while the test runs.
const CAPACITY: u64 = 1_000;
/// Number of clients of each protocol.
const CLIENTS: usize = 3;
/// Number of pipelines that a client of the Redis protocol sends, and their length. All clients together send
/// far more checks than any policy may admit.
const PIPELINES: (usize, usize) = (80, 8);
/// Number of checks that a client of the HTTP API sends.
const HTTP_CHECKS: usize = 40;

/// Limits that give back nothing while the test runs, by the names of their policies.
const LIMITS: [(&str, &str); 3] = [
    ("window", "fixed-window 1000/year"),
    ("log", "sliding-log 1000/day"),
    ("gcra", "gcra 1/day burst 1000"),
];

/// Four servers on one Redis.
struct Nodes {
    nodes: Vec<Serving>,
    redis: Server,
    _dir: TempDir,
}

impl Nodes {
    /// Starts them with a policy for each of the limits.
    fn start(distribution: Distribution) -> Option<Nodes> {
        let redis = Server::redis()?;
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("tollgate.toml");
        fs::write(&path, config(&redis, distribution)).unwrap();
        let args = ["--config", path.to_str().unwrap(), "--log-level", "off"];
        let nodes = (0..NODES).map(|_| Serving::start(&args)).collect();
        Some(Nodes { nodes, redis, _dir: dir })
    }

    /// Returns the node that a client asks with its n-th request. Each client goes its own way through all of
    /// them.
    fn node(&self, client: usize, n: usize) -> usize {
        (client + n * (2 * client + 1)) % self.nodes.len()
    }

    /// Has all clients check one key at once. Returns how many checks were admitted.
    fn admit(&self, policy: &str) -> u64 {
        thread::scope(|scope| {
            let over_resp = |client| scope.spawn(move || self.admit_over_resp(policy, client));
            let over_http = |client| scope.spawn(move || self.admit_over_http(policy, client));
            let clients: Vec<_> =
                (0..CLIENTS).flat_map(|client| [over_resp(client), over_http(client)]).collect();
            clients.into_iter().map(|client| client.join().unwrap()).sum()
        })
    }

    fn admit_over_resp(&self, policy: &str, client: usize) -> u64 {
        let (count, length) = PIPELINES;
        let connect = |node: &Serving| Pipeline::new(node, policy, length);
        let mut pipelines: Vec<Pipeline> = self.nodes.iter().map(connect).collect();
        (0..count).map(|n| pipelines[self.node(client, n)].send()).sum()
    }

    fn admit_over_http(&self, policy: &str, client: usize) -> u64 {
        let check = |n| self.nodes[self.node(client, n)].check(policy, "a");
        let is_allowed = |(status, body): (u16, serde_json::Value)| match status {
            200 => true,
            429 => false,
            _ => panic!("{status}: {body}"),
        };
        (0..HTTP_CHECKS).map(|n| u64::from(is_allowed(check(n)))).sum()
    }

    /// Returns the sum of a sample over all nodes.
    fn sum(&self, sample: &str) -> u64 {
        self.nodes.iter().map(|node| node.sample(sample)).sum()
    }
}

/// A long timeout and no admission without the store, so that a busy machine does not change a count.
fn config(redis: &Server, distribution: Distribution) -> String {
    let store = format!("[store]\nurl = \"{}\"\ntimeout = \"5s\"\nnodes = {NODES}\n", redis.url());
    let policy = |(name, limit): (&str, &str)| {
        format!(
            "[policy.{name}]\nlimits = [\"{limit}\"]\non_failure = \"deny\"\n\
             distribution = \"{distribution}\"\n"
        )
    };
    store + &LIMITS.map(policy).concat()
}

/// A connection over the Redis protocol that checks one key many times at once.
struct Pipeline {
    stream: BufReader<TcpStream>,
    commands: String,
    length: usize,
}

impl Pipeline {
    fn new(node: &Serving, policy: &str, length: usize) -> Pipeline {
        let commands = format!("TG.CHECK {policy} a\r\n").repeat(length);
        Pipeline { stream: BufReader::new(node.resp()), commands, length }
    }

    /// Returns how many of the checks were admitted.
    fn send(&mut self) -> u64 {
        self.stream.get_mut().write_all(self.commands.as_bytes()).unwrap();
        (0..self.length).map(|_| u64::from(self.is_allowed())).sum()
    }

    /// Reads a reply: `allowed`, which is 1 or 0, and four more numbers.
    fn is_allowed(&mut self) -> bool {
        assert_eq!(self.line(), "*5");
        let [allowed, ..] = [(); 5].map(|()| self.line());
        allowed == ":1"
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

#[test]
fn strict_is_exact_on_any_number_of_servers() {
    let Some(nodes) = Nodes::start(Distribution::Strict) else { return };
    for (policy, limit) in LIMITS {
        assert_eq!(nodes.admit(policy), CAPACITY, "{limit}");
        denials_need_no_calls(&nodes, policy);
    }
    assert_eq!(nodes.sum("tollgate_over_admitted_total"), 0);
}

#[test]
fn write_behind_stays_within_its_bound() {
    stays_within_its_bound(Distribution::WriteBehind(WriteBehind::default()), 150);
}

#[test]
fn prefetch_stays_within_its_bound() {
    stays_within_its_bound(Distribution::Prefetch(Prefetch::default()), 200);
}

/// Checks the sum of all admissions, and that the bound is exported.
fn stays_within_its_bound(distribution: Distribution, expected: u64) {
    let Some(nodes) = Nodes::start(distribution) else { return };
    for (policy, line) in LIMITS {
        let limit: Limit = line.parse().unwrap();
        let bound = distribution.max_over_admission(&limit, NODES);
        assert_eq!(bound, expected, "{line}");
        let exported = format!("tollgate_over_admission_bound{{policy=\"{policy}\"}}");
        assert_eq!(nodes.nodes[0].sample(&exported), bound, "{line}");
        let admitted = nodes.admit(policy);
        println!("{distribution}, {line}: {admitted} admitted");
        assert!(admitted.abs_diff(CAPACITY) <= bound, "{line}: {admitted}");
        let decisions =
            format!("tollgate_decisions_total{{policy=\"{policy}\",outcome=\"allowed\"}}");
        assert_eq!(nodes.sum(&decisions), admitted, "{line}");
    }
}

/// How long denied clients go on: each node has to ask Redis again meanwhile.
const DENIED_FOR: Duration = Duration::from_secs(2);
/// Minimum number of denied checks that each node gets.
const MIN_DENIED: u64 = 20_000;
/// How many checks a second each node must have answered for a call a second not to matter.
const MIN_RATE: u64 = 5_000;

/// A node that knows a denial asks Redis again after a second, and not before.
fn denials_need_no_calls(nodes: &Nodes, policy: &str) {
    let (begin, mut checks) = (Instant::now(), 0);
    let stats = calls_during(&nodes.redis, || checks = deny(nodes, policy));
    let calls = stats.count("evalsha") + stats.count("eval");
    // Whole seconds are rounded down, and each node may begin and end with a call.
    let seconds = begin.elapsed().as_secs();
    let max = u64::from(NODES) * (seconds + 2);
    println!("{policy}: {calls} calls for {checks} denied checks in {seconds} s");
    assert!((u64::from(NODES)..=max).contains(&calls), "{policy}: {calls} calls; at most {max}");
    // On a machine that is too slow, the calls of each second weigh more.
    let is_fast = checks >= MIN_RATE * u64::from(NODES) * (seconds + 1);
    assert!(calls * 1_000 < checks || !is_fast, "{policy}: {calls} calls for {checks} checks");
}

/// Floods all nodes with checks of a key that is denied. Returns the number of checks.
fn deny(nodes: &Nodes, policy: &str) -> u64 {
    thread::scope(|scope| {
        let flood = |node| scope.spawn(move || deny_at(node, policy));
        let floods: Vec<_> = nodes.nodes.iter().map(flood).collect();
        floods.into_iter().map(|flood| flood.join().unwrap()).sum()
    })
}

fn deny_at(node: &Serving, policy: &str) -> u64 {
    // What arrives together is asked together, with one call.
    let mut pipeline = Pipeline::new(node, policy, MAX_COALESCED);
    let (begin, mut checks) = (Instant::now(), 0);
    while begin.elapsed() < DENIED_FOR || checks < MIN_DENIED {
        assert_eq!(pipeline.send(), 0, "{policy}");
        checks += MAX_COALESCED as u64;
    }
    checks
}
