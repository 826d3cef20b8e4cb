//! How far a policy is enforced.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tollgate::Enforce;

use crate::Talk;
use crate::metrics::{decisions, samples};
use crate::support::Client;
use crate::support::http::Answer;

fn talk(enforce: &str) -> Talk {
    Talk::of(&format!("[policy.p]\nlimits = [\"gcra 1/s burst 1\"]\nenforce = \"{enforce}\""))
}

const CHECK: &str = "{\"policy\":\"p\",\"key\":\"a\"}";
const PROXY: &str = "/check?policy=p&key=a";

/// What is said of one who is beyond the limit: in JSON, and to a proxy.
fn beyond(talk: &mut Talk) -> [Answer; 2] {
    assert_eq!(talk.client.post("/v1/check", CHECK).status, 200);
    [talk.client.post("/v1/check", CHECK), talk.client.get(PROXY)]
}

fn outcomes(talk: &mut Talk) -> [f64; 3] {
    let samples = samples(&mut talk.client);
    ["allowed", "denied", "shadow_denied"].map(|outcome| samples[&decisions("p", outcome)])
}

#[test]
fn on_turns_away() {
    let mut talk = talk("on");
    let [json, proxy] = beyond(&mut talk);
    assert_eq!([json.status, proxy.status], [429, 429]);
    assert_eq!(outcomes(&mut talk), [1.0, 2.0, 0.0]);
}

#[test]
fn shadow_counts_and_lets_pass() {
    let mut talk = talk("shadow");
    let [json, proxy] = beyond(&mut talk);
    assert_eq!((json.told(), proxy.status), ((true, Some(1), Some(0)), 200));
    assert_eq!((&json.json()["retry_after_ms"], json.field("retry-after")), (&json!(0), None));
    assert_eq!((proxy.body.as_str(), proxy.field("retry-after")), ("", None));
    assert_eq!(talk.client.post("/v1/peek", CHECK).told(), (true, Some(1), Some(0)));
    assert_eq!(outcomes(&mut talk), [1.0, 0.0, 2.0]);
}

/// Whoever is denied does not come to know that there is a limit; whoever asked does.
#[test]
fn silent_turns_away_without_a_word() {
    let mut talk = talk("silent");
    let [json, proxy] = beyond(&mut talk);
    assert_eq!((json.told(), proxy.status), ((false, Some(1), Some(0)), 429));
    assert_eq!((proxy.body.as_str(), proxy.field("content-type")), ("", None));
    for answer in [&json, &proxy] {
        let telling = ["retry-after", "ratelimit", "ratelimit-policy"];
        assert!(telling.iter().all(|name| answer.field(name).is_none()), "{answer:?}");
        assert_eq!(answer.field("cache-control"), Some("no-store"));
    }
    let passes = talk.client.get("/check?policy=p&key=b&deny_status=403");
    assert_eq!((passes.status, passes.field("ratelimit")), (200, None));
    assert_eq!(talk.client.get("/check?policy=p&key=b&deny_status=403").status, 403);
}

#[test]
fn off_counts_nothing() {
    let mut talk = talk("off");
    let [json, proxy] = beyond(&mut talk);
    assert_eq!(json.told(), (true, None, None));
    assert_eq!(json.json()["bound_by"], Value::Null);
    assert_eq!((proxy.status, proxy.field("ratelimit")), (200, None));
    assert_eq!(samples(&mut talk.client)["tollgate_keys"], 0.0);
    // Nothing is bounded, so nothing is said to be.
    assert_eq!(proxy.field("ratelimit-policy"), None);
    // Who is asked for must be known all the same, lest it fail when it is switched on.
    assert_eq!(talk.client.post("/v1/check", "{\"policy\":\"p\"}").status, 422);
}

/// About a quarter of all, always the same ones, whatever they are asked by.
#[test]
fn a_share_holds_for_the_same_keys() {
    let (mut one, mut other) = (talk("25%"), talk("25%"));
    let share: Enforce = "25%".parse().unwrap();
    let mut denied = BTreeMap::new();
    for number in 0..400 {
        let key = format!("user-{number}");
        let body = json!({"policy": "p", "key": key, "cost": 2}).to_string();
        let json = one.client.post("/v1/check", &body).status == 429;
        let proxy = other.client.get(&format!("/check?policy=p&cost=2&key={key}")).status == 429;
        let mut resp = Client::of(&other.server);
        let resp = resp.ask(format!("TG.PEEK p {key} COST 2\r\n")).starts_with("*5\r\n:0\r\n");
        assert_eq!((json, json), (proxy, resp), "{key}");
        assert_eq!(json, share.holds_for(key.as_bytes()), "{key}");
        denied.insert(key, json);
    }
    let held = denied.values().filter(|denied| **denied).count();
    assert!((60..140).contains(&held), "{held} of 400");
    // A greater share has all of a smaller one.
    let mut more = talk("60%");
    for (key, _) in denied.iter().filter(|(_, denied)| **denied) {
        let body = json!({"policy": "p", "key": key, "cost": 2}).to_string();
        assert_eq!(more.client.post("/v1/check", &body).status, 429, "{key}");
    }
}

/// Who is meant does not depend on the order in which they are named, nor on names that nobody counts.
#[test]
fn a_share_holds_for_the_same_subjects() {
    let limits = "limits = [\"gcra 1/s burst 1 per ip\", \"gcra 1/s burst 1 per user\"]";
    let talk = &mut Talk::of(&format!("[policy.p]\n{limits}\nenforce = \"25%\""));
    let mut ask = |query: &str| talk.client.get(&format!("/check?policy=p&cost=2&{query}")).status;
    let mut wrong = Vec::new();
    for number in 0..100 {
        let (ip, user) = (format!("key.ip=ip-{number}"), format!("key.user=user-{number}"));
        let statuses = [
            ask(&format!("{ip}&{user}")),
            ask(&format!("{user}&{ip}")),
            ask(&format!("{ip}&{user}&key=other")),
            ask(&format!("{ip}&key.x=other&{user}")),
        ];
        if statuses.iter().any(|status| *status != statuses[0]) {
            wrong.push((number, statuses));
        }
    }
    assert!(wrong.is_empty(), "{} of 100 differ: {wrong:?}", wrong.len());
}
