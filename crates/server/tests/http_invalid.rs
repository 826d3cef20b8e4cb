//! Invalid and unusual HTTP/1 requests: the exact response, and whether the connection stays open.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "http_invalid/batch.rs"]
mod batch;
#[path = "http_invalid/bodies.rs"]
mod bodies;
#[path = "http_invalid/case.rs"]
mod case;
#[path = "http_invalid/headers.rs"]
mod headers;
#[path = "http_invalid/json.rs"]
mod json;
#[path = "http_invalid/paths.rs"]
mod paths;
#[path = "http_invalid/query.rs"]
mod query;
#[path = "http_invalid/request_lines.rs"]
mod request_lines;
#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;

use case::Case;
use support::policy;
use tollgate_server::Server;

/// Minimum number of cases.
const MIN_CASES: usize = 500;

fn server() -> Server {
    support::http::server()
        .policy(policy("default", &["gcra 1/s burst 5"]))
        .policy(policy("db", &["concurrency 5 ttl 30s"]))
        .policy(policy("login", &["fixed-window 3/h per ip", "gcra 1/s burst 5 per user"]))
        .start()
        .unwrap()
}

#[test]
fn every_case_has_its_exact_response() {
    let server = server();
    let tables: [(&str, Vec<Case>); 7] = [
        ("request lines", request_lines::cases()),
        ("headers", headers::cases()),
        ("bodies", bodies::cases()),
        ("paths", paths::cases()),
        ("JSON", json::cases()),
        ("batches", batch::cases()),
        ("queries", query::cases()),
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
