//! Bad and odd HTTP/1: what exactly is answered, and whether the connection goes on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "bad_http/batch.rs"]
mod batch;
#[path = "bad_http/bodies.rs"]
mod bodies;
#[path = "bad_http/case.rs"]
mod case;
#[path = "bad_http/fields.rs"]
mod fields;
#[path = "bad_http/json.rs"]
mod json;
#[path = "bad_http/lines.rs"]
mod lines;
#[path = "bad_http/paths.rs"]
mod paths;
#[path = "bad_http/query.rs"]
mod query;
#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;

use case::Case;
use support::policy;
use tollgate_server::Server;

/// How many classes there are at least.
const LEAST: usize = 500;

fn server() -> Server {
    support::http::server()
        .policy(policy("default", &["gcra 1/s burst 5"]))
        .policy(policy("db", &["concurrency 5 ttl 30s"]))
        .policy(policy("login", &["fixed-window 3/h per ip", "gcra 1/s burst 5 per user"]))
        .start()
        .unwrap()
}

#[test]
fn every_class_has_its_answer() {
    let server = server();
    let tables: [(&str, Vec<Case>); 7] = [
        ("lines", lines::cases()),
        ("fields", fields::cases()),
        ("bodies", bodies::cases()),
        ("paths", paths::cases()),
        ("JSON", json::cases()),
        ("batches", batch::cases()),
        ("queries", query::cases()),
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
