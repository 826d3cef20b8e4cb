//! `tollgate simulate` with costs by unit: requests and tokens of a language model, in memory and on
//! real servers.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tollgate_fixtures::{Cluster, Server};

const GATEWAY: [&str; 2] = ["gcra 60/min", "gcra 90000/min of tokens"];

fn run(flags: &[&str], limits: &[&str], trace: &str) -> Output {
    let mut command = Command::cargo_bin("tollgate").unwrap();
    command.arg("simulate").args(flags);
    for limit in limits {
        command.args(["--limit", limit]);
    }
    command.write_stdin(trace).output().unwrap()
}

/// Returns the decisions.
fn decide(store: &str, limits: &[&str], trace: &str) -> String {
    let output = run(&["--json", "--store", store], limits, trace);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{limits:?} on {store}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Calls `test` with the URL of every kind of store that can be started here.
fn on_every_store(test: impl Fn(&str)) {
    test("memory:");
    for server in [Server::redis(), Server::valkey()].into_iter().flatten() {
        test(&server.url());
    }
    if let Some(cluster) = Cluster::start() {
        test(&cluster.url());
    }
}

/// Steps of the gateway: whether they are allowed, what remains, and which limit binds.
const SCENARIO: [(&str, bool, u64, usize); 19] = [
    (r#"{"t_ms":0,"costs":{"tokens":850}}"#, true, 59, 0),
    // All or nothing: whichever limit denies, none has taken anything.
    (r#"{"t_ms":0,"costs":{"tokens":90000}}"#, false, 59, 1),
    (r#"{"t_ms":0,"cost":60,"costs":{"tokens":10}}"#, false, 59, 0),
    (r#"{"t_ms":0,"cost":60,"costs":{"tokens":90000}}"#, false, 59, 0),
    (r#"{"t_ms":0,"op":"peek","cost":59,"costs":{"tokens":89150}}"#, true, 59, 0),
    (r#"{"t_ms":0,"op":"peek","cost":59,"costs":{"tokens":89151}}"#, false, 59, 1),
    // What was used is charged afterwards: the tokens go into debt, the requests are free.
    (r#"{"t_ms":0,"op":"charge","cost":0,"costs":{"tokens":89151}}"#, true, 0, 1),
    (r#"{"t_ms":0}"#, false, 0, 1),
    (r#"{"t_ms":0,"op":"refund","cost":1,"costs":{"tokens":151}}"#, true, 60, 0),
    (r#"{"t_ms":0,"cost":60,"costs":{"tokens":150}}"#, true, 0, 0),
    // Another key reserves an estimate of both, and settles what was used.
    (
        r#"{"t_ms":0,"key":"b","op":"reserve","id":"r","cost":2,"costs":{"tokens":2000}}"#,
        true,
        58,
        0,
    ),
    (
        r#"{"t_ms":0,"key":"b","op":"settle","id":"r","cost":1,"costs":{"tokens":1200}}"#,
        true,
        59,
        0,
    ),
    (r#"{"t_ms":0,"key":"b","op":"peek","cost":59,"costs":{"tokens":88800}}"#, true, 59, 0),
    (r#"{"t_ms":0,"key":"b","op":"peek","cost":59,"costs":{"tokens":88801}}"#, false, 59, 1),
    // A reservation of one unit, settled with more of the other.
    (r#"{"t_ms":0,"key":"b","op":"reserve","id":"s","cost":1}"#, true, 58, 0),
    (
        r#"{"t_ms":0,"key":"b","op":"settle","id":"s","cost":1,"costs":{"tokens":88800}}"#,
        true,
        0,
        1,
    ),
    (r#"{"t_ms":0,"key":"b","op":"reserve","id":"t","costs":{"tokens":1}}"#, false, 0, 1),
    (r#"{"t_ms":1,"key":"b","op":"reserve","id":"t","costs":{"tokens":1}}"#, true, 0, 1),
    (r#"{"t_ms":1,"key":"b","op":"peek","cost":57}"#, true, 0, 1),
];

#[test]
fn requests_and_tokens_are_taken_together_on_every_store() {
    let trace: Vec<&str> = SCENARIO.iter().map(|(step, ..)| *step).collect();
    on_every_store(|store| {
        let decisions = decide(store, &GATEWAY, &trace.join("\n"));
        assert_eq!(decisions.lines().count(), SCENARIO.len(), "{store}");
        for ((step, allowed, remaining, bound_by), line) in SCENARIO.iter().zip(decisions.lines()) {
            let decision: Value = serde_json::from_str(line).unwrap();
            let found = (&decision["allowed"], &decision["remaining"], &decision["bound_by"]);
            let expected = (&(*allowed).into(), &(*remaining).into(), &GATEWAY[*bound_by].into());
            assert_eq!(found, expected, "{step} on {store}: {line}");
        }
    });
}

/// Policies of several units. The last one counts subjects in different slots of a cluster.
const POLICIES: [&[&str]; 4] = [
    &["gcra 60/min burst 9", "gcra 90000/min burst 5000 of tokens"],
    &[
        "sliding-window 4/s",
        "fixed-window 9000/min of tokens",
        "ar1 max 900 decay 2 resolution 1s of bytes",
    ],
    &[
        "concurrency 5 ttl 1s",
        "token-bucket 100/s burst 900 whole of tokens",
        "sliding-log 900/s of bytes",
    ],
    &[
        "gcra 60/min burst 9 per user",
        "gcra 90000/min burst 9000 of tokens per org",
        "request-window 2000/min of bytes per all",
    ],
];

/// A thousand steps with costs of each unit, over a few keys, with times that step back.
fn random_trace(limits: &[&str]) -> String {
    let ops = ["check", "check", "check", "check", "peek", "charge", "refund", "reserve", "settle"];
    let mut random = 1_u64;
    let steps = (0_u64..1_000).map(|step| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let [a, b, c, d, e] = [29, 34, 39, 45, 51].map(|bits| random >> bits & 63);
        let millis = 1_700_000_000_000 + step * 10 - a;
        let op = if a == 0 { "reset" } else { ops[usize::try_from(b).unwrap() % ops.len()] };
        // A repeated check with its id would be answered as the first time.
        let id = if op == "check" { step } else { e % 7 };
        // A third of the steps leaves a unit out.
        let costs = [("tokens", c * 40), ("bytes", e * 8)].into_iter().filter(|(unit, cost)| {
            cost % 3 > 0 && limits.iter().any(|limit| limit.contains(&format!("of {unit}")))
        });
        let costs: Vec<_> = costs.map(|(unit, cost)| format!("\"{unit}\":{cost}")).collect();
        let (key, cost, costs) = (d % 5, d % 4, costs.join(","));
        format!(
            "{{\"t_ms\":{millis}.{a:03},\"key\":\"k{key}\",\"keys\":{{\"user\":\"u{key}\",\
             \"org\":\"o{}\"}},\"cost\":{cost},\"costs\":{{{costs}}},\"op\":\"{op}\",\"id\":\"{id}\"}}\n",
            key % 2,
        )
    });
    steps.collect()
}

#[test]
fn every_store_decides_as_memory_does() {
    let traces = POLICIES.map(|limits| (limits, random_trace(limits)));
    let in_memory = traces.each_ref().map(|(limits, trace)| decide("memory:", limits, trace));
    for (limits, decisions) in POLICIES.iter().zip(&in_memory) {
        for limit in *limits {
            let denied = decisions.lines().any(|line| {
                line.contains("\"allowed\":false")
                    && line.contains(&format!("\"bound_by\":\"{limit}\""))
            });
            assert!(denied, "{limit} never denies");
        }
    }
    on_every_store(|store| {
        for ((limits, trace), expected) in traces.iter().zip(&in_memory) {
            let found = decide(store, limits, trace);
            let differs =
                found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
            assert_eq!(differs, None, "{limits:?} on {store}");
            assert_eq!(found.lines().count(), expected.lines().count(), "{limits:?} on {store}");
        }
    });
}

/// Steps whose costs are not accepted, and the error message. `crates/sim` has more of them.
const INVALID: [(&str, &str); 4] = [
    (
        r#"{"t_ms":0,"costs":{"tokens":1.5}}"#,
        "costs.tokens 1.5 is not accepted; expected a whole number from 0 to 4294967295",
    ),
    (
        r#"{"t_ms":0,"costs":{"tokens":1,"tokens":1}}"#,
        "costs {\"tokens\":1,\"tokens\":1} is not accepted; expected names of 1 to 64 bytes, each only \
         once",
    ),
    (
        r#"{"t_ms":0,"costs":{"tokns":1}}"#,
        "cost of \"tokns\": no limit of the policy has this unit (of UNIT); \"costs\" may have tokens",
    ),
    (
        r#"{"t_ms":0,"cots":{"tokens":1}}"#,
        "unknown field \"cots\"; expected one of t_ms, key, keys, cost, costs, op, id",
    ),
];

#[test]
fn a_bad_cost_is_reported_with_its_line_and_exits_2() {
    for (step, message) in INVALID {
        let trace = format!("{{\"t_ms\":0}}\n\n{step}\n{{\"t_ms\":0}}\n");
        let output = run(&["--json"], &GATEWAY, &trace);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{step}: {error}");
        assert!(error.starts_with("error: standard input, line 3: "), "{error}");
        assert!(error.contains(message), "{step}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert_eq!(output.stdout.split(|byte| *byte == b'\n').count(), 2, "one decision before it");
    }
}

#[test]
fn the_table_shows_the_costs() {
    let trace = "{\"t_ms\":0,\"costs\":{\"tokens\":850}}\n{\"t_ms\":0}\n";
    let table = String::from_utf8(run(&[], &GATEWAY, trace).stdout).unwrap();
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[1].contains(" check         1 tokens=850  ✓ allowed "), "{table}");
    assert!(rows[2].contains(" check                    1  ✓ allowed "), "{table}");
    assert_eq!(rows[0].find("  decision"), rows[1].find("  ✓"), "{table}");
}
