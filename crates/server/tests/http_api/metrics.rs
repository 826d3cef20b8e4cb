//! What is counted, as Prometheus reads it.

use std::collections::BTreeMap;

use crate::Talk;
use crate::support::Client;

/// Samples by their names with labels, as they are written.
type Samples = BTreeMap<String, f64>;

/// Reads the page, and sees to it that it is one.
#[track_caller]
pub(crate) fn samples(client: &mut Client) -> Samples {
    let answer = client.get("/metrics");
    assert_eq!(answer.status, 200);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(answer.field("content-type"), Some(kind));
    assert!(answer.body.ends_with("\n# EOF\n"), "{}", answer.body);
    let (mut samples, mut family) = (Samples::new(), String::new());
    for line in answer.body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.split(' ');
            let word = words.next().unwrap();
            assert!(["HELP", "TYPE", "UNIT", "EOF"].contains(&word), "{line}");
            family = words.next().unwrap_or(&family).to_owned();
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with(&family), "{name} stands below {family}");
        let before = samples.insert(name.to_owned(), value.parse().unwrap());
        assert_eq!(before, None, "{name} comes twice");
    }
    samples
}

/// How much one of them has grown.
pub(crate) fn grown(before: &Samples, after: &Samples, name: &str) -> f64 {
    let of = |samples: &Samples| samples.get(name).copied();
    of(after).unwrap_or_else(|| panic!("there is no {name}: {after:#?}"))
        - of(before).unwrap_or(0.0)
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

/// All that grew but what every request changes.
fn changes(before: &Samples, after: &Samples) -> Vec<(String, f64)> {
    let names = after.keys().filter(|name| !name.starts_with("tollgate_store_duration_seconds"));
    let all = names.map(|name| (name.clone(), grown(before, after, name)));
    all.filter(|(_, by)| *by != 0.0).collect()
}

#[test]
fn counters_grow_by_what_was_asked() {
    let talk = &mut Talk::of(POLICIES);
    let before = samples(&mut talk.client);
    for _ in 0..7 {
        talk.check("default", "a");
        talk.check("shadow", "a");
    }
    talk.client.get("/check?key=b");
    let batch = "{\"checks\":[{\"key\":\"b\",\"cost\":9},{\"key\":\"b\"},{\"key\":\"b\"}]}";
    talk.client.post("/v1/check/batch", batch);
    talk.client.post("/v1/reserve", "{\"key\":\"b\",\"id\":\"x\"}");
    let after = samples(&mut talk.client);
    let mut expected = vec![
        (decisions("default", "allowed"), 5.0 + 1.0 + 2.0 + 1.0),
        (decisions("default", "denied"), 2.0 + 1.0),
        (decisions("shadow", "allowed"), 5.0),
        (decisions("shadow", "shadow_denied"), 2.0),
        ("tollgate_keys".to_owned(), 3.0),
    ];
    expected.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(changes(&before, &after), expected);
}

/// Only checks and reservations are decisions.
#[test]
fn other_operations_are_not_counted() {
    let talk = &mut Talk::of(POLICIES);
    talk.check("default", "a");
    let before = samples(&mut talk.client);
    for act in ["peek", "charge", "refund", "reset", "settle", "release", "renew"] {
        talk.client.post(&format!("/v1/{act}"), "{\"key\":\"a\",\"id\":\"x\"}");
    }
    talk.client.get("/check?key=a&peek=1&cost=9");
    // What is not understood is no decision either.
    talk.client.post("/v1/check", "{\"key\":\"\"}");
    talk.client.post("/v1/check", "{\"policy\":\"nope\",\"key\":\"a\"}");
    talk.client.get("/readyz");
    let after = samples(&mut talk.client);
    let grew = changes(&before, &after);
    assert!(grew.iter().all(|(name, _)| name == "tollgate_keys"), "{grew:?}");
}

/// The store did not fail; the caller did.
#[test]
fn a_mistake_of_the_caller_is_no_failure() {
    let talk = &mut Talk::of(POLICIES);
    let answer = talk.client.post("/v1/charge", "{\"key\":\"a\",\"cost\":4294967295}");
    assert_eq!(answer.status, 422);
    let after = samples(&mut talk.client);
    assert_eq!(after[&decisions("default", "failed")], 0.0);
}

/// Keys are people, and there is no end of them: they are never told.
#[test]
fn the_page_does_not_grow_with_keys() {
    let talk = &mut Talk::of(POLICIES);
    let before = samples(&mut talk.client);
    for number in 0..200 {
        talk.check("default", &format!("secret-{number}"));
        talk.client.get(&format!("/check?policy=secret-{number}&key=secret"));
        talk.client.get(&format!("/secret-{number}"));
    }
    let page = talk.client.get("/metrics").body;
    assert!(!page.contains("secret"));
    let after = samples(&mut talk.client);
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    assert_eq!(grown(&before, &after, "tollgate_keys"), 200.0);
}

#[test]
fn the_page_is_bounded_by_policies_too() {
    let policy = |number: usize| format!("[policy.p{number:05}]\nlimits = [\"gcra 1/s\"]\n");
    let talk = &mut Talk::of(&(0..1_500).map(policy).collect::<String>());
    for number in [0, 999, 1_000, 1_499] {
        talk.check(&format!("p{number:05}"), "a");
    }
    let after = samples(&mut talk.client);
    assert!(after.len() < 10_000, "{}", after.len());
    assert_eq!(after[&decisions("p00999", "allowed")], 1.0);
    assert_eq!(after[&decisions("(others)", "allowed")], 2.0);
}

#[test]
fn connections_are_counted() {
    let talk = &mut Talk::of(POLICIES);
    let open = "tollgate_connections{protocol=\"http\"}";
    assert_eq!(samples(&mut talk.client)[open], 1.0);
    let mut other = Client::http(&talk.server);
    assert_eq!(samples(&mut other)[open], 2.0);
    let build = format!("tollgate_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(samples(&mut other)[&build], 1.0);
}
