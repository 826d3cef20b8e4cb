//! `tollgate simulate` on real servers: the same bytes as in memory, and no keys left behind.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use tollgate_fixtures::{Cluster, Server, wait_until};

const LIMITS: [&str; 9] = [
    "gcra 5/s burst 10",
    "token-bucket 100/10s burst 100 whole",
    "fixed-window 1000/day tz Europe/Amsterdam",
    "request-window 50/min",
    "sliding-log 60/min",
    "sliding-counters 50/h resolution 10m",
    "sliding-window 1000000000/day",
    "ar1 max 12.5 decay 2 resolution 1s",
    "concurrency 20 ttl 30s",
];

/// Two thousand steps over a few keys, with most operations and times that step back.
fn trace() -> String {
    let acts =
        ["check", "check", "check", "peek", "charge", "refund", "reserve", "settle", "reset"];
    let mut trace = String::new();
    let mut random = 1_u64;
    for step in 0_u64..2_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let [a, b, c, d] = [33, 39, 45, 51].map(|bits| random >> bits & 63);
        let millis = 1_700_000_000_000 + step * 40 - a;
        let act = acts[usize::try_from(b).unwrap() % acts.len()];
        let (key, cost, id) = (c % 5, d % 4, d % 7);
        trace.push_str(&format!(
            "{{\"t_ms\": {millis}.{b:03}, \"key\": \"user-{key}\", \"cost\": {cost}, \
             \"op\": \"{act}\", \"id\": \"id-{id}\"}}\n"
        ));
    }
    trace
}

fn simulate(limits: &[&str], store: &str, trace: &str) -> Vec<u8> {
    let mut command = Command::new(cargo_bin!("tollgate"));
    command.args(["simulate", "--json", "--store", store]);
    for limit in limits {
        command.args(["--limit", limit]);
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let trace = trace.to_owned();
    let feeder = std::thread::spawn(move || input.write_all(trace.as_bytes()));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap().unwrap();
    assert!(output.status.success(), "{limits:?} on {store}");
    output.stdout
}

fn same_as_in_memory(url: &str) {
    let trace = trace();
    for limits in LIMITS.map(|limit| vec![limit]).into_iter().chain([LIMITS.to_vec()]) {
        let (memory, remote) =
            (simulate(&limits, "memory:", &trace), simulate(&limits, url, &trace));
        assert!(memory == remote, "{limits:?} differ on {url}");
    }
}

#[test]
fn redis_and_valkey_decide_as_memory_does_and_no_keys_are_left() {
    for server in [Server::redis(), Server::valkey()].into_iter().flatten() {
        same_as_in_memory(&server.url());
        assert_eq!(server.cli(&["dbsize"]), "0");
    }
}

#[test]
fn a_cluster_decides_as_memory_does_and_no_keys_are_left() {
    let Some(cluster) = Cluster::start() else { return };
    same_as_in_memory(&cluster.url());
    for node in cluster.primaries() {
        assert_eq!(cluster.nodes()[node].cli(&["dbsize"]), "0");
    }
}

#[test]
fn an_interrupted_run_leaves_no_keys() {
    let Some(server) = Server::redis() else { return };
    let mut command = Command::new(cargo_bin!("tollgate"));
    command.args(["simulate", "--limit", "gcra 1/h", "--store", &server.url()]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"t_ms\": 1}\n").unwrap();
    wait_until("the step is counted", Duration::from_secs(20), || server.cli(&["dbsize"]) == "1");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(server.cli(&["dbsize"]), "0");
}
