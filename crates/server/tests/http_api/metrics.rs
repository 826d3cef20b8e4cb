//! The metrics.

use std::collections::BTreeMap;

use tollgate::{Clock, MemoryStore};

use crate::support::{Client, http};
use crate::{Fixture, policies};

/// Samples by their names and labels.
type Samples = BTreeMap<String, f64>;

/// Reads the metrics, and checks their format.
#[track_caller]
pub(crate) fn samples(client: &mut Client) -> Samples {
    let response = client.get("/metrics");
    assert_eq!(response.status, 200);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(response.header("content-type"), Some(kind));
    assert!(response.body.ends_with("\n# EOF\n"), "{}", response.body);
    let (mut samples, mut family) = (Samples::new(), String::new());
    for line in response.body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut parts = comment.split(' ');
            let keyword = parts.next().unwrap();
            assert!(["HELP", "TYPE", "UNIT", "EOF"].contains(&keyword), "{line}");
            family = parts.next().unwrap_or(&family).to_owned();
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with(&family), "{name} is listed under {family}");
        let before = samples.insert(name.to_owned(), value.parse().unwrap());
        assert_eq!(before, None, "duplicate sample {name}");
    }
    samples
}

/// Returns how much a sample has increased.
pub(crate) fn increase(before: &Samples, after: &Samples, name: &str) -> f64 {
    let of = |samples: &Samples| samples.get(name).copied();
    of(after).unwrap_or_else(|| panic!("no sample {name}: {after:#?}")) - of(before).unwrap_or(0.0)
}

pub(crate) fn decisions(policy: &str, outcome: &str) -> String {
    format!("tollgate_decisions_total{{policy=\"{policy}\",outcome=\"{outcome}\"}}")
}

const POLICIES: &str = "
[policy.default]
limits = [\"gcra 1/s burst 5\"]
[policy.shadow]
limits = [\"gcra 1/s burst 5\"]
enforce = \"shadow\"
";

/// Returns all increased samples, except those that every request changes.
fn changes(before: &Samples, after: &Samples) -> Vec<(String, f64)> {
    let is_other = |name: &str| {
        name.starts_with("tollgate_store_duration_seconds")
            || name.starts_with("tollgate_memory_bytes")
    };
    let names = after.keys().filter(|name| !is_other(name));
    let all = names.map(|name| (name.clone(), increase(before, after, name)));
    all.filter(|(_, by)| *by != 0.0).collect()
}

#[test]
fn counters_increase_with_decisions() {
    let fixture = &mut Fixture::new(POLICIES);
    let before = samples(&mut fixture.client);
    for _ in 0..7 {
        fixture.check("default", "a");
        fixture.check("shadow", "a");
    }
    fixture.client.get("/check?key=b");
    let batch = "{\"checks\":[{\"key\":\"b\",\"cost\":9},{\"key\":\"b\"},{\"key\":\"b\"}]}";
    fixture.client.post("/v1/check/batch", batch);
    fixture.client.post("/v1/reserve", "{\"key\":\"b\",\"id\":\"x\"}");
    let after = samples(&mut fixture.client);
    let mut expected = vec![
        (decisions("default", "allowed"), 5.0 + 1.0 + 2.0 + 1.0),
        (decisions("default", "denied"), 2.0 + 1.0),
        (decisions("shadow", "allowed"), 5.0),
        (decisions("shadow", "shadow_denied"), 2.0),
        ("tollgate_ids".to_owned(), 1.0),
        ("tollgate_keys".to_owned(), 3.0),
    ];
    expected.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(changes(&before, &after), expected);
}

#[test]
fn each_kind_of_memory_has_a_gauge_and_a_limit() {
    let fixture = &mut Fixture::new(POLICIES);
    let before = samples(&mut fixture.client);
    let kinds = ["states", "leases", "reservations", "ids"];
    let gauge = |name: &str, kind: &str| format!("tollgate_{name}{{kind=\"{kind}\"}}");
    for kind in kinds {
        assert_eq!(before[&gauge("memory_bytes", kind)], 0.0, "{kind}");
    }
    let limits = kinds.map(|kind| before[&gauge("memory_limit_bytes", kind)] / f64::from(1 << 20));
    assert_eq!(limits, [512.0, 128.0, 128.0, 250_000_000.0 / f64::from(1 << 20)]);
    fixture.check("default", "a");
    fixture.client.post("/v1/reserve", "{\"key\":\"b\",\"id\":\"x\"}");
    let after = samples(&mut fixture.client);
    for (kind, at_least) in [("states", 100.0), ("reservations", 40.0), ("ids", 72.0)] {
        let bytes = after[&gauge("memory_bytes", kind)];
        assert!((at_least..20_000.0).contains(&bytes), "{kind}: {bytes}");
    }
    fixture.client.post("/v1/reset", "{\"key\":\"b\"}");
    let after = samples(&mut fixture.client);
    assert_eq!(after[&gauge("memory_bytes", "reservations")], 0.0);
}

/// Reserving nothing is free, so a client can have as many reservations as there is room for.
#[test]
fn no_policy_takes_the_memory_of_the_others() {
    let clock = Clock::manual();
    let store = MemoryStore::builder().max_memory(256 << 10).clock(clock.clone()).build().unwrap();
    let mut builder = http::server_on(&clock).memory(store);
    let limits = "limits = [\"gcra 9/h burst 9\"]";
    for policy in policies(&format!("[policy.flooded]\n{limits}\n[policy.other]\n{limits}\n")) {
        builder = builder.policy(policy);
    }
    let server = builder.start().unwrap();
    let mut client = Client::http(&server);
    let mut reserve = |policy: &str, cost: u64, n: u64| {
        let key = n % 20;
        let json =
            format!("{{\"policy\":\"{policy}\",\"key\":\"{key}\",\"id\":\"{n}\",\"cost\":{cost}}}");
        client.post("/v1/reserve", &json).status
    };
    assert!((0..1_500).any(|n| reserve("flooded", 0, n) == 429));
    assert!((0..20).all(|n| reserve("other", 1, n) == 200));
    assert_eq!(
        client.post("/v1/settle", "{\"policy\":\"other\",\"key\":\"7\",\"id\":\"7\"}").status,
        200
    );
    let after = samples(&mut client);
    let gauge = |name: &str| after[&format!("tollgate_{name}{{kind=\"reservations\"}}")];
    let (bytes, limit) = (gauge("memory_bytes"), gauge("memory_limit_bytes"));
    assert!((limit / 2.0..=limit).contains(&bytes), "{bytes} of {limit}");
}

/// Only checks and reservations are decisions.
#[test]
fn other_operations_are_not_counted() {
    let fixture = &mut Fixture::new(POLICIES);
    fixture.check("default", "a");
    let before = samples(&mut fixture.client);
    for act in ["peek", "charge", "refund", "reset", "settle", "release", "renew"] {
        fixture.client.post(&format!("/v1/{act}"), "{\"key\":\"a\",\"id\":\"x\"}");
    }
    fixture.client.get("/check?key=a&peek=1&cost=9");
    // An invalid request is not a decision either.
    fixture.client.post("/v1/check", "{\"key\":\"\"}");
    fixture.client.post("/v1/check", "{\"policy\":\"nope\",\"key\":\"a\"}");
    fixture.client.get("/readyz");
    let after = samples(&mut fixture.client);
    let changes = changes(&before, &after);
    let is_kept = |name: &str| ["tollgate_ids", "tollgate_keys"].contains(&name);
    assert!(changes.iter().all(|(name, _)| is_kept(name)), "{changes:?}");
}

/// The store did not fail.
#[test]
fn an_invalid_request_is_not_a_failure() {
    let fixture = &mut Fixture::new(POLICIES);
    let response = fixture.client.post("/v1/charge", "{\"key\":\"a\",\"cost\":4294967295}");
    assert_eq!(response.status, 422);
    let after = samples(&mut fixture.client);
    assert_eq!(after[&decisions("default", "failed")], 0.0);
}

/// Keys identify people and are unlimited in number, so they never appear in metrics.
#[test]
fn keys_do_not_appear_in_metrics() {
    let fixture = &mut Fixture::new(POLICIES);
    let before = samples(&mut fixture.client);
    for number in 0..200 {
        fixture.check("default", &format!("secret-{number}"));
        fixture.client.get(&format!("/check?policy=secret-{number}&key=secret"));
        fixture.client.get(&format!("/secret-{number}"));
    }
    let page = fixture.client.get("/metrics").body;
    assert!(!page.contains("secret"));
    let after = samples(&mut fixture.client);
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    assert_eq!(increase(&before, &after, "tollgate_keys"), 200.0);
}

#[test]
fn the_number_of_policies_in_metrics_is_limited() {
    let policy = |number: usize| format!("[policy.p{number:05}]\nlimits = [\"gcra 1/s\"]\n");
    let fixture = &mut Fixture::new(&(0..1_500).map(policy).collect::<String>());
    for number in [0, 999, 1_000, 1_499] {
        fixture.check(&format!("p{number:05}"), "a");
    }
    let after = samples(&mut fixture.client);
    assert!(after.len() < 10_000, "{}", after.len());
    assert_eq!(after[&decisions("p00999", "allowed")], 1.0);
    assert_eq!(after[&decisions("(others)", "allowed")], 2.0);
}

#[test]
fn connections_are_counted() {
    let fixture = &mut Fixture::new(POLICIES);
    let open = "tollgate_connections{protocol=\"http\"}";
    assert_eq!(samples(&mut fixture.client)[open], 1.0);
    let mut other = Client::http(&fixture.server);
    assert_eq!(samples(&mut other)[open], 2.0);
    let build = format!("tollgate_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(samples(&mut other)[&build], 1.0);
}
