//! Limits that run beside others, and those who are held to more or less.

use std::time::Duration;

use serde_json::json;

use crate::Talk;
use crate::metrics::samples;

fn differences(talk: &mut Talk) -> [f64; 2] {
    let samples = samples(&mut talk.client);
    ["stricter", "looser"].map(|which| {
        let name =
            format!("tollgate_candidate_differences_total{{policy=\"p\",candidate=\"{which}\"}}");
        samples[&name]
    })
}

fn with(limits: &str, candidate: &str) -> Talk {
    Talk::of(&format!("[policy.p]\nlimits = [\"{limits}\"]\ncandidate = [\"{candidate}\"]"))
}

#[test]
fn a_stricter_candidate_is_counted_and_changes_nothing() {
    let mut talk = with("gcra 1/s burst 5", "gcra 1/s burst 2");
    let mut alone = Talk::of("[policy.p]\nlimits = [\"gcra 1/s burst 5\"]");
    for _ in 0..7 {
        assert_eq!(talk.check("p", "a"), alone.check("p", "a"));
    }
    // It has a state of its own: two fit, three more do not, and the last two fit neither.
    assert_eq!(differences(&mut talk), [3.0, 0.0]);
    talk.clock.advance(Duration::from_secs(2));
    alone.clock.advance(Duration::from_secs(2));
    assert_eq!(talk.check("p", "a"), alone.check("p", "a"));
    assert_eq!(differences(&mut talk), [3.0, 0.0]);
}

#[test]
fn a_looser_candidate_is_counted_and_changes_nothing() {
    let mut talk = with("gcra 1/s burst 1", "gcra 1/s burst 3");
    let told: Vec<_> = (0..5).map(|_| talk.check("p", "a").0).collect();
    assert_eq!(told, [true, false, false, false, false]);
    assert_eq!(differences(&mut talk), [0.0, 2.0]);
    // What is given back is given back to both.
    talk.client.post("/v1/reset", "{\"policy\":\"p\",\"key\":\"a\"}");
    assert_eq!(talk.check("p", "a"), (true, Some(1), Some(0)));
    assert_eq!(differences(&mut talk), [0.0, 2.0]);
}

/// Many at once are compared each with its own.
#[test]
fn a_batch_is_compared_one_by_one() {
    let toml = "[policy.p]\nlimits = [\"gcra 1/s burst 3\"]\ncandidate = [\"gcra 1/s burst 1\"]\n\
                [policy.plain]\nlimits = [\"gcra 1/s burst 1\"]";
    let mut talk = Talk::of(toml);
    let one = |policy: &str, key: &str| json!({"policy": policy, "key": key});
    let checks = json!({"checks": [
        one("p", "a"), one("plain", "a"), one("p", "a"), one("p", "b"), one("plain", "a"), one("p", "a"),
        one("p", "a"),
    ]});
    let answer = talk.client.post("/v1/check/batch", &checks.to_string()).json();
    let allowed: Vec<_> =
        answer["results"].as_array().unwrap().iter().map(|one| one["allowed"] == true).collect();
    assert_eq!(allowed, [true, true, true, true, false, true, false]);
    assert_eq!(differences(&mut talk), [2.0, 0.0]);
}

/// The candidate does not count what the policy counts, under whatever name.
#[test]
fn a_candidate_cannot_be_asked_for() {
    let mut talk = with("gcra 1/s burst 5", "gcra 1/s burst 2");
    let answer = talk.client.post("/v1/check", "{\"policy\":\"p.candidate\",\"key\":\"a\"}");
    assert_eq!(answer.status, 404);
}

/// As in the counts of decisions, of which these are a part.
#[test]
fn a_look_is_no_difference() {
    let mut talk = with("gcra 1/s burst 5", "gcra 1/s burst 2");
    for _ in 0..3 {
        talk.client.post("/v1/peek", "{\"policy\":\"p\",\"key\":\"a\",\"cost\":4}");
    }
    assert_eq!(differences(&mut talk), [0.0, 0.0]);
}

/// If the candidate took the place of the policy, whoever is held to less would be so there, too.
#[test]
fn overrides_hold_for_candidates() {
    let mut talk = Talk::of(
        "[policy.p]\nlimits = [\"gcra 1/s burst 4\"]\ncandidate = [\"gcra 1/s burst 4\"]\n\
         overrides = [{ key = \"vip\", factor = 0.5 }]",
    );
    for _ in 0..9 {
        talk.check("p", "vip");
    }
    // The candidate is the same line.
    assert_eq!(differences(&mut talk), [0.0, 0.0]);
}

/// The same for whoever sends a factor along.
#[test]
fn factors_hold_for_candidates() {
    let mut talk = with("gcra 1/s burst 4", "gcra 1/s burst 4");
    for _ in 0..9 {
        talk.client.post("/v1/check", "{\"policy\":\"p\",\"key\":\"a\",\"factor\":0.5}");
    }
    assert_eq!(differences(&mut talk), [0.0, 0.0]);
}

const OVERRIDES: &str = "
[policy.p]
limits = [\"fixed-window 10/h per ip\", \"fixed-window 20/h per user\", \"fixed-window 40/h per all\"]
overrides = [
    { key = \"user=vip\", factor = 0.1 },
    { key = \"user=pest\", factor = 10 },
    { key = \"ip=192.0.2.1\", factor = 0.5 },
]
";

/// Only the limits that count someone are scaled for them: others share the rest.
#[test]
fn an_override_scales_only_ones_own() {
    let mut talk = Talk::of(OVERRIDES);
    let mut peek = |ip: &str, user: &str| {
        let body = json!({"policy": "p", "keys": {"ip": ip, "user": user}});
        let answer = talk.client.post("/v1/peek", &body.to_string());
        // The line may say by how much it was scaled; whom it counts stands last.
        let line = answer.json()["bound_by"].as_str().unwrap().to_owned();
        (line.rsplit(' ').next().unwrap().to_owned(), answer.told().1)
    };
    let (by_ip, by_user) = ("ip", "user");
    assert_eq!(peek("203.0.113.9", "someone"), (by_ip.into(), Some(10)));
    // 200 would fit, but the address is as good as any.
    assert_eq!(peek("203.0.113.9", "vip"), (by_ip.into(), Some(10)));
    assert_eq!(peek("203.0.113.9", "pest"), (by_user.into(), Some(2)));
    assert_eq!(peek("192.0.2.1", "someone").1, Some(20));
    assert_eq!(peek("192.0.2.1", "vip"), (by_ip.into(), Some(20)));
    // The same text is another subject elsewhere.
    assert_eq!(peek("vip", "192.0.2.1"), (by_ip.into(), Some(10)));
}

#[test]
fn an_override_and_a_factor_hold_together() {
    let mut talk = Talk::of(
        "[policy.p]\nlimits = [\"fixed-window 10/h\"]\noverrides = [{ key = \"a=b\", factor = 0.5 }]",
    );
    assert_eq!(talk.check("p", "a=b"), (true, Some(20), Some(19)));
    assert_eq!(talk.check("p", "a"), (true, Some(10), Some(9)));
    let answer =
        talk.client.post("/v1/check", "{\"policy\":\"p\",\"key\":\"a=b\",\"factor\":4}").told();
    assert_eq!(answer, (true, Some(5), Some(3)));
    let proxy = talk.client.get("/check?policy=p&key=a%3Db&peek=1");
    assert_eq!(proxy.field("ratelimit"), Some("\"p\";r=18;t=3600"));
}
