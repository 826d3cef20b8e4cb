//! Invalid and unusual RESP input: the exact reply, and whether the connection stays open.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "resp_invalid/case.rs"]
mod case;
#[path = "resp_invalid/commands.rs"]
mod commands;
#[path = "resp_invalid/protocol.rs"]
mod protocol;
#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;
#[path = "resp_invalid/tg.rs"]
mod tg;
#[path = "resp_invalid/throttle.rs"]
mod throttle;
#[path = "resp_invalid/transactions.rs"]
mod transactions;

use case::Case;
use support::policy;
use tollgate_server::Server;

/// Minimum number of cases.
const MIN_CASES: usize = 390;

fn server() -> Server {
    support::server()
        .policy(policy("api", &["gcra 1/s burst 5"]))
        .policy(policy("db", &["concurrency 5 ttl 30s"]))
        .policy(policy("login", &["fixed-window 3/h per ip", "gcra 1/s burst 5 per user"]))
        .start()
        .unwrap()
}

#[test]
fn every_case_has_its_exact_response() {
    let server = server();
    let tables: [(&str, Vec<Case>); 5] = [
        ("protocol", protocol::cases()),
        ("commands", commands::cases()),
        ("MULTI", transactions::cases()),
        ("CL.THROTTLE", throttle::cases()),
        ("TG", tg::cases()),
    ];
    let (mut count, mut wrong) = (0, Vec::new());
    for (table, cases) in &tables {
        println!("{table}: {} cases", cases.len());
        count += cases.len();
        wrong.extend(cases.iter().filter_map(|case| case.failure(&server)));
    }
    println!("{count} cases of invalid and unusual input");
    assert!(count >= MIN_CASES);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
