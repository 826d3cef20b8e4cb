//! Wrong clocks: those of clients do not matter, and the server's may step back.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use tollgate_core::{Act, PlainStore};
use tollgate_fixtures::Server;

use crate::client::{Client, apply_in_memory, at_second, to_text};
use crate::operations::{KeyedPolicy, Operation};

/// One limit of every algorithm, each with a capacity of five. A calendar window is among them, which is near
/// its end in some runs.
const LINES: [&str; 11] = [
    "gcra 1/h burst 5",
    "token-bucket 1/h burst 5",
    "leaky-bucket size 5 drip 1 every 1h",
    "fixed-window 5/h",
    "fixed-window 5/month tz Europe/Amsterdam",
    "request-window 5/h",
    "sliding-log 5/h",
    "sliding-counters 5/h resolution 10min",
    "sliding-window 5/h",
    "ar1 max 5 decay 2 resolution 1h",
    "concurrency 5 ttl 2h",
];

/// A library that makes the clock wrong for one process.
const WRONG_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, now);
    const char *off = getenv("WRONG_CLOCK_BY");
    if (id == CLOCK_REALTIME && off) now->tv_sec += atol(off);
    return result;
}
"#;

/// Environment variable with the URL of the store, for the other process.
const STORE: &str = "WRONG_CLOCK_STORE";

fn build_wrong_clock(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&source, WRONG_CLOCK).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl");
    assert!(compiler.status().unwrap().success());
    library
}

fn seconds_now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// Checks every limit once, and returns what remains and when it resets: in seconds from now, since the
/// server's clock and ours may differ.
fn check_every_limit(url: &str) -> String {
    let client = Client::connect(url);
    let mut lines = String::new();
    for line in LINES {
        let policy = KeyedPolicy::one(line, line);
        let decision =
            client.apply(policy.check().id(&env::var("WRONG_CLOCK_BY").unwrap())).unwrap();
        let resets = decision.reset_after.as_secs_ceil();
        let left = decision.remaining.unwrap();
        writeln!(lines, "RESULT {left} {resets} {} {line}", decision.allowed).unwrap();
    }
    lines
}

/// Runs in another process, with a wrong clock.
#[test]
#[ignore = "run by another test, in a process of its own"]
fn in_another_process() {
    let url = env::var(STORE).expect("run by another test");
    println!("CLOCK {}", seconds_now());
    println!("{}", check_every_limit(&url));
}

/// Returns the results of another process, whose clock is wrong by so many seconds.
fn results_with_wrong_clock(url: &str, clock: &Path, off_by: i64) -> Vec<(u64, u64)> {
    let mut other = Command::new(env::current_exe().unwrap());
    other.args(["--exact", "clocks::in_another_process", "--ignored", "--nocapture"]);
    other.env("LD_PRELOAD", clock).env("WRONG_CLOCK_BY", off_by.to_string()).env(STORE, url);
    let output = other.output().unwrap();
    let output_text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output_text}\n{}", String::from_utf8_lossy(&output.stderr));
    // The test harness may have begun the line.
    let words = |line: &str, first: &str| -> Option<Vec<String>> {
        let (_, rest) = line.split_once(first)?;
        Some(rest.split_whitespace().map(str::to_owned).collect())
    };
    let clock = output_text.lines().find_map(|line| words(line, "CLOCK ")).unwrap();
    let wrong_by = clock[0].parse::<i64>().unwrap() - seconds_now();
    assert!((wrong_by - off_by).abs() < 60, "the clock is wrong by {wrong_by} s, not {off_by} s");
    let results = output_text.lines().filter_map(|line| words(line, "RESULT "));
    results
        .map(|words| {
            assert_eq!(words[2], "true", "{words:?}");
            (words[0].parse().unwrap(), words[1].parse().unwrap())
        })
        .collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_clients_clock_does_not_matter() {
    const HOUR: i64 = 3_600;
    let Some(server) = Server::redis() else { return };
    let clock = build_wrong_clock(server.folder());
    let right = results_with_wrong_clock(&server.url(), &clock, 0);
    assert_eq!(right.len(), LINES.len());
    let mut left = 4;
    for off_by in [HOUR, -HOUR, 2_400 * HOUR, -2_400 * HOUR] {
        left -= 1;
        let wrong = results_with_wrong_clock(&server.url(), &clock, off_by);
        for (index, line) in LINES.iter().enumerate() {
            assert_eq!(wrong[index].0, left, "{line}: {off_by} s");
            // Where the reset depends on how much is used, each unit adds an hour or two.
            let (first, now) = (right[index].1, wrong[index].1);
            assert!(now <= first + 8 * 3_600, "{line}: {off_by} s: {first} {now}");
        }
        let month = LINES.iter().position(|line| line.contains("month")).unwrap();
        assert!(right[month].1.abs_diff(wrong[month].1) < 60, "{right:?} {wrong:?}");
    }
}

fn some_operations(policy: &KeyedPolicy) -> Vec<Operation<'_>> {
    vec![
        policy.check(),
        policy.operation(Act::Check, 2),
        policy.operation(Act::Check, 5),
        policy.peek(),
    ]
}

/// The server's time steps back by up to forty days, and comes back.
#[test]
fn a_clock_that_steps_back_mints_no_credit() {
    for start in [Server::redis, Server::valkey] {
        let Some(server) = start() else { continue };
        let (client, memory) = (Client::connect(&server.url()), PlainStore::default());
        for line in LINES {
            let (policy, mut admitted) = (KeyedPolicy::one(line, line), 0);
            for seconds in [0, -1, -3_600, -7_200, -86_400, -40 * 86_400, -3_600, -1, 0, 1] {
                let (operations, at) = (some_operations(&policy), at_second(seconds));
                let results = client.apply_all(&operations, Some(at));
                let expected = apply_in_memory(&memory, &operations, at);
                assert_eq!(to_text(&results), to_text(&expected), "{line} at {seconds} s");
                for (result, cost) in results.iter().zip([1, 2, 5]) {
                    let allowed = result.as_ref().unwrap().allowed;
                    admitted += if allowed { cost } else { 0 };
                }
            }
            assert!((1..=5).contains(&admitted), "{line}: {admitted}");
        }
    }
}

/// Leases and reservations taken before a step back are treated as in memory.
#[test]
fn leases_and_reservations_outlast_a_step_back() {
    let Some(server) = Server::redis() else { return };
    let (client, memory) = (Client::connect(&server.url()), PlainStore::default());
    for line in LINES {
        let policy = KeyedPolicy::one(line, line);
        let steps = [
            (0, policy.operation(Act::Reserve, 3).id("r")),
            (-3_600, policy.operation(Act::Reserve, 3).id("r")),
            (-86_400, policy.operation(Act::Renew, 0).id("r")),
            (-3_600, policy.operation(Act::Settle, 4).id("r")),
            (-1, policy.operation(Act::Settle, 4).id("r")),
            (-7_200, policy.operation(Act::Check, 2)),
            (-1, policy.operation(Act::Release, 0).id("r")),
            (0, policy.peek()),
        ];
        for (seconds, operation) in steps {
            let at = at_second(seconds);
            let result = client.apply_at(operation, Some(at));
            let expected = apply_in_memory(&memory, &[operation], at);
            assert_eq!(
                to_text(&[result]),
                to_text(&expected),
                "{line}: {operation:?} at {seconds} s"
            );
        }
    }
}
