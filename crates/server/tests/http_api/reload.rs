//! Other policies while connections are open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;

use crate::metrics::{decisions, samples};
use crate::support::Client;
use crate::{Talk, policies};

fn limits(line: &str) -> String {
    format!("[policy.p]\nlimits = [\"{line}\"]")
}

#[test]
fn what_was_used_stays_used() {
    let mut talk = Talk::of(&limits("fixed-window 10/h"));
    for _ in 0..4 {
        talk.check("p", "a");
    }
    talk.server.set_policies(&policies(&limits("fixed-window 6/h"))).unwrap();
    assert_eq!(talk.check("p", "a"), (true, Some(6), Some(1)));
    talk.server.set_policies(&policies(&limits("fixed-window 20/h"))).unwrap();
    assert_eq!(talk.check("p", "a"), (true, Some(20), Some(14)));
    // One of another kind begins anew, and does not disturb what was there.
    talk.server.set_policies(&policies(&limits("gcra 1/s burst 3"))).unwrap();
    assert_eq!(talk.check("p", "a"), (true, Some(3), Some(2)));
    assert_eq!(samples(&mut talk.client)[&decisions("p", "allowed")], 7.0);
}

#[test]
fn policies_come_and_go() {
    let mut talk = Talk::of(&limits("fixed-window 2/h"));
    assert_eq!(talk.check("p", "a"), (true, Some(2), Some(1)));
    talk.server.set_policies(&policies("[policy.q]\nlimits = [\"fixed-window 3/h\"]")).unwrap();
    let answer = talk.client.post("/v1/check", "{\"policy\":\"p\",\"key\":\"a\"}");
    assert_eq!(answer.status, 404);
    assert_eq!(answer.json()["detail"], "unknown policy 'p': expected one of q");
    assert_eq!(talk.check("q", "a"), (true, Some(3), Some(2)));
    talk.server.set_policies(&policies(&limits("fixed-window 2/h"))).unwrap();
    assert_eq!(talk.check("p", "a"), (true, Some(2), Some(0)));
}

#[test]
fn how_it_is_enforced_changes_at_once() {
    let mut talk = Talk::of(&limits("fixed-window 1/h"));
    let told = |talk: &mut Talk, enforce: &str| {
        let toml = format!("{}\nenforce = \"{enforce}\"", limits("fixed-window 1/h"));
        talk.server.set_policies(&policies(&toml)).unwrap();
        talk.check("p", "a").0
    };
    assert!(talk.check("p", "a").0);
    let all = ["on", "shadow", "silent", "off", "on", "0%", "100%"];
    assert_eq!(
        all.map(|enforce| told(&mut talk, enforce)),
        [false, true, false, true, false, true, false]
    );
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut talk = Talk::of(&limits("fixed-window 2/h"));
    let mut bad = policies(&limits("fixed-window 9/h per ip"));
    bad[0].candidate = policies(&limits("fixed-window 9/h"))[0].policy.limits().to_vec();
    assert!(talk.server.set_policies(&bad).is_err());
    assert_eq!(talk.check("p", "a"), (true, Some(2), Some(1)));
    talk.server.set_policies(&policies(&limits("fixed-window 2/h"))).unwrap();
    let samples = samples(&mut talk.client);
    let reloads =
        |outcome: &str| samples[&format!("tollgate_reloads_total{{outcome=\"{outcome}\"}}")];
    assert_eq!((reloads("success"), reloads("failure")), (1.0, 1.0));
}

/// All that comes together is answered by the old ones or by the new ones.
#[test]
fn nothing_is_answered_by_some_of_both() {
    let toml = |limit: u64| {
        format!(
            "[policy.p]\nlimits = [\"fixed-window {limit}/h\"]\n\
             [policy.q]\nlimits = [\"fixed-window {limit}/h\"]"
        )
    };
    let talk = &mut Talk::of(&toml(1_000_000));
    let done = AtomicBool::new(false);
    let one = |policy: &str| json!({"policy": policy, "key": "a", "cost": 0});
    let checks: Vec<_> =
        (0..20).map(|number| one(if number % 2 == 0 { "p" } else { "q" })).collect();
    let body = json!({ "checks": checks }).to_string();
    thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0..2_000_u64 {
                talk.server.set_policies(&policies(&toml(1_000_000 + turn % 2))).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut client = Client::http(&talk.server);
        while !done.load(Ordering::Relaxed) {
            let told = client.post("/v1/check/batch", &body).json();
            let results = told["results"].as_array().unwrap();
            assert!(results.iter().all(|one| one["limit"] == results[0]["limit"]), "{told}");
        }
    });
}
