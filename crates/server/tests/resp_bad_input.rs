//! Bad and odd input: what exactly is answered, and whether the connection goes on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "bad_input/case.rs"]
mod case;
#[path = "bad_input/commands.rs"]
mod commands;
#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;
#[path = "bad_input/tg.rs"]
mod tg;
#[path = "bad_input/throttle.rs"]
mod throttle;
#[path = "bad_input/transactions.rs"]
mod transactions;
#[path = "bad_input/wire.rs"]
mod wire;

use case::Case;
use support::policy;
use tollgate_server::Server;

/// How many classes there are at least.
const LEAST: usize = 390;

fn server() -> Server {
    support::server()
        .policy(policy("api", &["gcra 1/s burst 5"]))
        .policy(policy("db", &["concurrency 5 ttl 30s"]))
        .policy(policy("login", &["fixed-window 3/h per ip", "gcra 1/s burst 5 per user"]))
        .start()
        .unwrap()
}

#[test]
fn every_class_has_its_answer() {
    let server = server();
    let tables: [(&str, Vec<Case>); 5] = [
        ("wire", wire::cases()),
        ("commands", commands::cases()),
        ("MULTI", transactions::cases()),
        ("CL.THROTTLE", throttle::cases()),
        ("TG", tg::cases()),
    ];
    let (mut classes, mut wrong) = (0, Vec::new());
    for (table, cases) in &tables {
        println!("{table}: {} classes", cases.len());
        classes += cases.len();
        wrong.extend(cases.iter().filter_map(|case| case.wrong(&server)));
    }
    println!("{classes} classes of bad and odd input");
    assert!(classes >= LEAST);
    assert!(wrong.is_empty(), "{} of {classes}:\n{}", wrong.len(), wrong.join("\n"));
}
