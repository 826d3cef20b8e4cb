//! Clocks that are wrong: those of clients do not matter, and the store's own may step back.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use tollgate_core::{Act, PlainStore};
use tollgate_fixtures::Server;

use crate::client::{Client, after_noon, plainly, said};
use crate::plan::{Ask, Plan};

/// One of every algorithm, each with room for five, and windows of the calendar that are near their end
/// sooner or later.
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

/// The clock of the machine, made wrong for one process.
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

/// Tells the other process where the store is.
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

/// Counts one of each and says what is left, and when it resets: in seconds from now, as the server's
/// clock and ours may not agree on when that is.
fn count_one_of_each(url: &str) -> String {
    let client = Client::connect(url);
    let mut told = String::new();
    for line in LINES {
        let plan = Plan::one(line, line);
        let decision = client.ask(plan.check().id(&env::var("WRONG_CLOCK_BY").unwrap())).unwrap();
        let resets = decision.reset_after.as_secs_ceil();
        let left = decision.remaining.unwrap();
        writeln!(told, "TOLD {left} {resets} {} {line}", decision.allowed).unwrap();
    }
    told
}

/// Only as another process, with a wrong clock.
#[test]
#[ignore = "run by another test, in a process of its own"]
fn in_another_process() {
    let url = env::var(STORE).expect("run by another test");
    println!("CLOCK {}", seconds_now());
    println!("{}", count_one_of_each(&url));
}

/// What another process is told, whose clock is wrong by so many seconds.
fn told_elsewhere(url: &str, clock: &Path, off_by: i64) -> Vec<(u64, u64)> {
    let mut other = Command::new(env::current_exe().unwrap());
    other.args(["--exact", "clocks::in_another_process", "--ignored", "--nocapture"]);
    other.env("LD_PRELOAD", clock).env("WRONG_CLOCK_BY", off_by.to_string()).env(STORE, url);
    let output = other.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    // Lines of the harness may stand before ours.
    let words = |line: &str, first: &str| -> Option<Vec<String>> {
        let (_, rest) = line.split_once(first)?;
        Some(rest.split_whitespace().map(str::to_owned).collect())
    };
    let clock = said.lines().find_map(|line| words(line, "CLOCK ")).unwrap();
    let wrong_by = clock[0].parse::<i64>().unwrap() - seconds_now();
    assert!((wrong_by - off_by).abs() < 60, "the clock is wrong by {wrong_by} s, not {off_by} s");
    let told = said.lines().filter_map(|line| words(line, "TOLD "));
    told.map(|told| {
        assert_eq!(told[2], "true", "{told:?}");
        (told[0].parse().unwrap(), told[1].parse().unwrap())
    })
    .collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_clients_clock_does_not_matter() {
    const HOUR: i64 = 3_600;
    let Some(server) = Server::redis() else { return };
    let clock = build_wrong_clock(server.folder());
    let right = told_elsewhere(&server.url(), &clock, 0);
    assert_eq!(right.len(), LINES.len());
    let mut left = 4;
    for off_by in [HOUR, -HOUR, 2_400 * HOUR, -2_400 * HOUR] {
        left -= 1;
        let wrong = told_elsewhere(&server.url(), &clock, off_by);
        for (place, line) in LINES.iter().enumerate() {
            assert_eq!(wrong[place].0, left, "{line}: {off_by} s");
            // Where it depends on how much is used, that is an hour or two for each.
            let (first, now) = (right[place].1, wrong[place].1);
            assert!(now <= first + 8 * 3_600, "{line}: {off_by} s: {first} {now}");
        }
        let month = LINES.iter().position(|line| line.contains("month")).unwrap();
        assert!(right[month].1.abs_diff(wrong[month].1) < 60, "{right:?} {wrong:?}");
    }
}

fn some(plan: &Plan) -> Vec<Ask<'_>> {
    vec![plan.check(), plan.ask(Act::Check, 2), plan.ask(Act::Check, 5), plan.peek()]
}

/// The store's time steps back by up to a day, and comes back.
#[test]
fn no_credit_is_minted_when_the_stores_clock_steps_back() {
    for start in [Server::redis, Server::valkey] {
        let Some(server) = start() else { continue };
        let (client, near) = (Client::connect(&server.url()), PlainStore::default());
        for line in LINES {
            let (plan, mut admitted) = (Plan::one(line, line), 0);
            for seconds in [0, -1, -3_600, -7_200, -86_400, -40 * 86_400, -3_600, -1, 0, 1] {
                let (asks, at) = (some(&plan), after_noon(seconds));
                let ours = client.ask_all(&asks, Some(at));
                let theirs = plainly(&near, &asks, at);
                assert_eq!(said(&ours), said(&theirs), "{line} at {seconds} s");
                for (answer, cost) in ours.iter().zip([1, 2, 5]) {
                    let allowed = answer.as_ref().unwrap().allowed;
                    admitted += if allowed { cost } else { 0 };
                }
            }
            assert!((1..=5).contains(&admitted), "{line}: {admitted}");
        }
    }
}

/// A limit that has used up its window at an earlier time has not more room than it would have had.
#[test]
fn leases_and_reservations_outlast_a_step_back() {
    let Some(server) = Server::redis() else { return };
    let (client, near) = (Client::connect(&server.url()), PlainStore::default());
    for line in LINES {
        let plan = Plan::one(line, line);
        let steps = [
            (0, plan.ask(Act::Reserve, 3).id("r")),
            (-3_600, plan.ask(Act::Reserve, 3).id("r")),
            (-86_400, plan.ask(Act::Renew, 0).id("r")),
            (-3_600, plan.ask(Act::Settle, 4).id("r")),
            (-1, plan.ask(Act::Settle, 4).id("r")),
            (-7_200, plan.ask(Act::Check, 2)),
            (-1, plan.ask(Act::Release, 0).id("r")),
            (0, plan.peek()),
        ];
        for (seconds, ask) in steps {
            let at = after_noon(seconds);
            let (ours, theirs) = (client.ask_at(ask, Some(at)), plainly(&near, &[ask], at));
            assert_eq!(said(&[ours]), said(&theirs), "{line}: {ask:?} at {seconds} s");
        }
    }
}
