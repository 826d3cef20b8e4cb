//! Many processes at once are admitted exactly as often as one caller would be (laws 2 and 9).
//!
//! Three runs for each algorithm, twenty with `TOLLGATE_LONG=1`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::time::Instant;

use support::calendar::wait_for_a_quiet_week;
use support::operations::connect;
use support::workers::{Job, Workers, apply_times, parse_limits, print_line, run_worker, runs};
use tokio::runtime::Runtime;
use tollgate_core::Act;
use tollgate_fixtures::Server;

const LIMIT: u64 = 1_000;

/// Policies that admit a thousand, and refill nothing while a run lasts.
const POLICIES: [&[&str]; 11] = [
    &["gcra 1/7day burst 1000"],
    &["token-bucket 1/7day burst 1000"],
    &["leaky-bucket size 1000 drip 1 every 7day"],
    &["fixed-window 1000/7day"],
    &["request-window 1000/7day"],
    &["sliding-log 1000/7day"],
    &["sliding-counters 1000/7day"],
    &["sliding-window 1000/7day"],
    &["ar1 max 1000 decay 2 resolution 7day"],
    &["concurrency 1000 ttl 1h"],
    &["gcra 1/7day burst 3000", "fixed-window 1000/7day"],
];

/// Not a test of its own: what the worker processes run.
#[test]
fn worker() {
    run_worker();
}

#[test]
fn four_processes_are_admitted_exactly_as_often_as_one_caller() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&server.url(), "tg"));
    let mut workers = Workers::start(&server.url());
    for policy in POLICIES {
        let started = Instant::now();
        for run in 1..=runs() {
            wait_for_a_quiet_week();
            let job = Job::new(policy, run);
            assert_eq!(workers.run(&job), job.expected(LIMIT), "{policy:?}, run {run}");
            // A check that one limit denied was charged to no other.
            let limits = parse_limits(&job.limits);
            let first = &limits[..1];
            let peek =
                runtime.block_on(apply_times(&store, (&job.key, first), Act::Peek, 1)).remove(0);
            let left = first[0].capacity().unwrap() - LIMIT;
            assert_eq!(peek.unwrap().remaining, Some(left), "{policy:?}, run {run}");
        }
        print_line(&format!("{policy:?}: {} runs in {:?}", runs(), started.elapsed()));
    }
}
