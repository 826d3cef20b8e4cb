//! Replacing the policies while connections are open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;

use crate::metrics::{decisions, samples};
use crate::support::Client;
use crate::{Fixture, policies};

fn limits(line: &str) -> String {
    format!("[policy.p]\nlimits = [\"{line}\"]")
}

#[test]
fn counts_survive_a_reload() {
    let mut fixture = Fixture::new(&limits("fixed-window 10/h"));
    for _ in 0..4 {
        fixture.check("p", "a");
    }
    fixture.server.set_policies(&policies(&limits("fixed-window 6/h"))).unwrap();
    assert_eq!(fixture.check("p", "a"), (true, Some(6), Some(1)));
    fixture.server.set_policies(&policies(&limits("fixed-window 20/h"))).unwrap();
    assert_eq!(fixture.check("p", "a"), (true, Some(20), Some(14)));
    // A limit of another algorithm starts fresh, and does not disturb the old state.
    fixture.server.set_policies(&policies(&limits("gcra 1/s burst 3"))).unwrap();
    assert_eq!(fixture.check("p", "a"), (true, Some(3), Some(2)));
    assert_eq!(samples(&mut fixture.client)[&decisions("p", "allowed")], 7.0);
}

/// Another generation forgets everything, also open reservations, ids and what a candidate counted. The one before is
/// still there.
#[test]
fn another_generation_starts_afresh() {
    let generation = |number: u32| {
        let limits = limits("fixed-window 5/h");
        policies(&format!("{limits}\ncandidate = [\"fixed-window 3/h\"]\ngeneration = {number}"))
    };
    let mut fixture = Fixture::new(&limits("fixed-window 5/h"));
    let body = "{\"policy\":\"p\",\"key\":\"a\",\"cost\":4,\"id\":\"x\"}";
    assert_eq!(fixture.client.post("/v1/reserve", body).status, 200);
    // The number that it has if none is given.
    fixture.server.set_policies(&generation(1)).unwrap();
    assert_eq!(fixture.check("p", "a"), (true, Some(5), Some(0)));
    fixture.server.set_policies(&generation(2)).unwrap();
    assert_eq!(fixture.client.post("/v1/settle", body).status, 409);
    assert_eq!(fixture.check("p", "a"), (true, Some(5), Some(4)));
    assert_eq!(fixture.client.post("/v1/reserve", body).decision(), (true, Some(5), Some(0)));
    fixture.server.set_policies(&generation(1)).unwrap();
    assert_eq!(fixture.check("p", "a"), (false, Some(5), Some(0)));
    let policies = fixture.client.get("/v1/policies").json();
    assert_eq!(policies["policies"][0]["generation"], 1);
    assert_eq!(samples(&mut fixture.client)[&decisions("p", "allowed")], 4.0);
}

/// A flood on a policy with `max_keys` leaves the others their room. Its candidate has as many keys of its own.
#[test]
fn a_policy_keeps_no_more_keys_than_it_may() {
    let text = |max_keys: u32| {
        let candidate = "candidate = [\"fixed-window 3/h\"]";
        format!("{}\n{candidate}\nmax_keys = {max_keys}", limits("fixed-window 5/h"))
    };
    let mut fixture = Fixture::new(&text(3));
    let mut flood =
        |prefix: &str| (0..10).filter(|n| fixture.check("p", &format!("{prefix}-{n}")).0).count();
    assert_eq!((flood("a"), flood("b")), (3, 0));
    let metrics = samples(&mut fixture.client);
    assert_eq!(metrics["tollgate_policy_keys{policy=\"p\"}"], 3.0);
    assert_eq!(metrics["tollgate_policy_keys_limit{policy=\"p\"}"], 3.0);
    assert_eq!(metrics["tollgate_keys"], 6.0, "with those of the candidate");
    fixture.server.set_policies(&policies(&text(5))).unwrap();
    let mut flood =
        |prefix: &str| (0..10).filter(|n| fixture.check("p", &format!("{prefix}-{n}")).0).count();
    assert_eq!(flood("c"), 2);
    fixture.server.set_policies(&policies(&limits("fixed-window 5/h"))).unwrap();
    assert!(fixture.check("p", "d").0);
}

#[test]
fn policies_can_be_added_and_removed() {
    let mut fixture = Fixture::new(&limits("fixed-window 2/h"));
    assert_eq!(fixture.check("p", "a"), (true, Some(2), Some(1)));
    fixture.server.set_policies(&policies("[policy.q]\nlimits = [\"fixed-window 3/h\"]")).unwrap();
    let response = fixture.client.post("/v1/check", "{\"policy\":\"p\",\"key\":\"a\"}");
    assert_eq!(response.status, 404);
    assert_eq!(response.json()["detail"], "unknown policy 'p': expected one of q");
    assert_eq!(fixture.check("q", "a"), (true, Some(3), Some(2)));
    fixture.server.set_policies(&policies(&limits("fixed-window 2/h"))).unwrap();
    assert_eq!(fixture.check("p", "a"), (true, Some(2), Some(0)));
}

#[test]
fn enforcement_changes_at_once() {
    let mut fixture = Fixture::new(&limits("fixed-window 1/h"));
    let is_allowed = |fixture: &mut Fixture, enforce: &str| {
        let toml = format!("{}\nenforce = \"{enforce}\"", limits("fixed-window 1/h"));
        fixture.server.set_policies(&policies(&toml)).unwrap();
        fixture.check("p", "a").0
    };
    assert!(fixture.check("p", "a").0);
    let all = ["on", "shadow", "silent", "off", "on", "0%", "100%"];
    assert_eq!(
        all.map(|enforce| is_allowed(&mut fixture, enforce)),
        [false, true, true, true, false, true, false]
    );
}

#[test]
fn a_rejected_reload_changes_nothing() {
    let mut fixture = Fixture::new(&limits("fixed-window 2/h"));
    let mut bad = policies(&limits("fixed-window 9/h per ip"));
    bad[0].candidate = policies(&limits("fixed-window 9/h"))[0].policy.limits().to_vec();
    assert!(fixture.server.set_policies(&bad).is_err());
    assert_eq!(fixture.check("p", "a"), (true, Some(2), Some(1)));
    fixture.server.set_policies(&policies(&limits("fixed-window 2/h"))).unwrap();
    let samples = samples(&mut fixture.client);
    let reloads =
        |outcome: &str| samples[&format!("tollgate_reloads_total{{outcome=\"{outcome}\"}}")];
    assert_eq!((reloads("success"), reloads("failure")), (1.0, 1.0));
}

/// A batch is decided by the old policies or by the new ones.
#[test]
fn a_batch_never_mixes_old_and_new_policies() {
    let toml = |limit: u64| {
        format!(
            "[policy.p]\nlimits = [\"fixed-window {limit}/h\"]\n\
             [policy.q]\nlimits = [\"fixed-window {limit}/h\"]"
        )
    };
    let fixture = &mut Fixture::new(&toml(1_000_000));
    let done = AtomicBool::new(false);
    let one = |policy: &str| json!({"policy": policy, "key": "a", "cost": 0});
    let checks: Vec<_> =
        (0..20).map(|number| one(if number % 2 == 0 { "p" } else { "q" })).collect();
    let body = json!({ "checks": checks }).to_string();
    thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0..2_000_u64 {
                fixture.server.set_policies(&policies(&toml(1_000_000 + turn % 2))).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut client = Client::http(&fixture.server);
        while !done.load(Ordering::Relaxed) {
            let response = client.post("/v1/check/batch", &body).json();
            let results = response["results"].as_array().unwrap();
            assert!(results.iter().all(|one| one["limit"] == results[0]["limit"]), "{response}");
        }
    });
}
