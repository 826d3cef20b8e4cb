//! Candidates and overrides.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::Policy;

use crate::metrics::samples;
use crate::support::Client;
use crate::{Fixture, policies};

fn differences(fixture: &mut Fixture) -> [f64; 2] {
    let samples = samples(&mut fixture.client);
    ["stricter", "looser"].map(|which| {
        let name =
            format!("tollgate_candidate_differences_total{{policy=\"p\",candidate=\"{which}\"}}");
        samples[&name]
    })
}

fn with_candidate(limits: &str, candidate: &str) -> Fixture {
    Fixture::new(&format!("[policy.p]\nlimits = [\"{limits}\"]\ncandidate = [\"{candidate}\"]"))
}

#[test]
fn a_stricter_candidate_is_counted_and_changes_nothing() {
    let mut fixture = with_candidate("gcra 1/s burst 5", "gcra 1/s burst 2");
    let mut alone = Fixture::new("[policy.p]\nlimits = [\"gcra 1/s burst 5\"]");
    for _ in 0..7 {
        assert_eq!(fixture.check("p", "a"), alone.check("p", "a"));
    }
    // The candidate has a state of its own: it allows two, denies the next three, and both deny the last two.
    assert_eq!(differences(&mut fixture), [3.0, 0.0]);
    fixture.clock.advance(Duration::from_secs(2));
    alone.clock.advance(Duration::from_secs(2));
    assert_eq!(fixture.check("p", "a"), alone.check("p", "a"));
    assert_eq!(differences(&mut fixture), [3.0, 0.0]);
}

#[test]
fn a_looser_candidate_is_counted_and_changes_nothing() {
    let mut fixture = with_candidate("gcra 1/s burst 1", "gcra 1/s burst 3");
    let allowed: Vec<_> = (0..5).map(|_| fixture.check("p", "a").0).collect();
    assert_eq!(allowed, [true, false, false, false, false]);
    assert_eq!(differences(&mut fixture), [0.0, 2.0]);
    // A reset applies to both.
    fixture.client.post("/v1/reset", "{\"policy\":\"p\",\"key\":\"a\"}");
    assert_eq!(fixture.check("p", "a"), (true, Some(1), Some(0)));
    assert_eq!(differences(&mut fixture), [0.0, 2.0]);
}

/// Each decision of a batch is compared with its own candidate.
#[test]
fn a_batch_is_compared_one_by_one() {
    let toml = "[policy.p]\nlimits = [\"gcra 1/s burst 3\"]\ncandidate = [\"gcra 1/s burst 1\"]\n\
                [policy.plain]\nlimits = [\"gcra 1/s burst 1\"]";
    let mut fixture = Fixture::new(toml);
    let one = |policy: &str, key: &str| json!({"policy": policy, "key": key});
    let checks = json!({"checks": [
        one("p", "a"), one("plain", "a"), one("p", "a"), one("p", "b"), one("plain", "a"), one("p", "a"),
        one("p", "a"),
    ]});
    let response = fixture.client.post("/v1/check/batch", &checks.to_string()).json();
    let allowed: Vec<_> =
        response["results"].as_array().unwrap().iter().map(|one| one["allowed"] == true).collect();
    assert_eq!(allowed, [true, true, true, true, false, true, false]);
    assert_eq!(differences(&mut fixture), [2.0, 0.0]);
}

/// The candidate is stored under a name of its own, which clients cannot use.
#[test]
fn a_candidate_is_not_a_policy() {
    let mut fixture = with_candidate("gcra 1/s burst 5", "gcra 1/s burst 2");
    let response = fixture.client.post("/v1/check", "{\"policy\":\"p.candidate\",\"key\":\"a\"}");
    assert_eq!(response.status, 404);
}

/// Only checks and reservations are counted, as in `tollgate_decisions_total`.
#[test]
fn a_peek_is_not_counted_as_a_difference() {
    let mut fixture = with_candidate("gcra 1/s burst 5", "gcra 1/s burst 2");
    for _ in 0..3 {
        fixture.client.post("/v1/peek", "{\"policy\":\"p\",\"key\":\"a\",\"cost\":4}");
    }
    assert_eq!(differences(&mut fixture), [0.0, 0.0]);
}

/// If the candidate replaced the policy, the overrides would apply to it, too.
#[test]
fn overrides_apply_to_candidates() {
    let mut fixture = Fixture::new(
        "[policy.p]\nlimits = [\"gcra 1/s burst 4\"]\ncandidate = [\"gcra 1/s burst 4\"]\n\
         overrides = [{ key = \"vip\", factor = 0.5 }]",
    );
    for _ in 0..9 {
        fixture.check("p", "vip");
    }
    // The candidate is the same limit.
    assert_eq!(differences(&mut fixture), [0.0, 0.0]);
}

/// The same holds for a factor in the request.
#[test]
fn factors_apply_to_candidates() {
    let mut fixture = with_candidate("gcra 1/s burst 4", "gcra 1/s burst 4");
    for _ in 0..9 {
        fixture.client.post("/v1/check", "{\"policy\":\"p\",\"key\":\"a\",\"factor\":0.5}");
    }
    assert_eq!(differences(&mut fixture), [0.0, 0.0]);
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

/// Only the limits that count the key are scaled; other keys share the rest.
#[test]
fn an_override_scales_only_limits_of_its_subject() {
    let mut fixture = Fixture::new(OVERRIDES);
    let mut peek = |ip: &str, user: &str| {
        let body = json!({"policy": "p", "keys": {"ip": ip, "user": user}});
        let response = fixture.client.post("/v1/peek", &body.to_string());
        // The limit may contain the factor; the subject is its last word.
        let line = response.json()["bound_by"].as_str().unwrap().to_owned();
        (line.rsplit(' ').next().unwrap().to_owned(), response.decision().1)
    };
    let (by_ip, by_user) = ("ip", "user");
    assert_eq!(peek("203.0.113.9", "someone"), (by_ip.into(), Some(10)));
    // The user has 200, but the address has only 10.
    assert_eq!(peek("203.0.113.9", "vip"), (by_ip.into(), Some(10)));
    assert_eq!(peek("203.0.113.9", "pest"), (by_user.into(), Some(2)));
    assert_eq!(peek("192.0.2.1", "someone").1, Some(20));
    assert_eq!(peek("192.0.2.1", "vip"), (by_ip.into(), Some(20)));
    // The same key is another subject here.
    assert_eq!(peek("vip", "192.0.2.1"), (by_ip.into(), Some(10)));
}

#[test]
fn an_override_and_a_factor_multiply() {
    let mut fixture = Fixture::new(
        "[policy.p]\nlimits = [\"fixed-window 10/h\"]\noverrides = [{ key = \"a=b\", factor = 0.5 }]",
    );
    assert_eq!(fixture.check("p", "a=b"), (true, Some(20), Some(19)));
    assert_eq!(fixture.check("p", "a"), (true, Some(10), Some(9)));
    let response = fixture
        .client
        .post("/v1/check", "{\"policy\":\"p\",\"key\":\"a=b\",\"factor\":4}")
        .decision();
    assert_eq!(response, (true, Some(5), Some(3)));
    let proxy = fixture.client.get("/check?policy=p&key=a%3Db&peek=1");
    assert_eq!(proxy.header("ratelimit"), Some("\"p\";r=18;t=3600"));
}

const OWN_LIMITS: &str = "
[policy.p]
limits = [
    \"gcra 1/h burst 2\",
    \"fixed-window 3/h\",
    \"gcra 5/h of tokens\",
    \"fixed-window 40/h per all\",
    \"gcra 1/h burst 30 per ip\",
]
overrides = [
    { key = \"partner\", limits = [\"gcra 1/h burst 4\", \"unlimited\", \"gcra 9/h of tokens\"] },
    { key = \"ip=192.0.2.1\", limits = [\"token-bucket 1/h burst 1\"] },
]
";

fn peek(fixture: &mut Fixture, key: &str, ip: &str) -> Vec<(Option<u64>, String)> {
    let body = json!({"policy": "p", "key": key, "keys": {"ip": ip}, "each": true});
    let response = fixture.client.post("/v1/peek", &body.to_string()).json();
    let limits = response["limits"].as_array().unwrap_or_else(|| panic!("{response}"));
    let limit = |limit: &Value| (limit["limit"].as_u64(), limit["line"].as_str().unwrap().into());
    limits.iter().map(limit).collect()
}

/// A key's own limits have the subject and the unit of those they replace; what others share stays.
#[test]
fn an_override_can_give_its_own_limits() {
    let fixture = &mut Fixture::new(OWN_LIMITS);
    let [own, windows, tokens, all, ip] = [
        (Some(2), "gcra 1/h burst 2"),
        (Some(3), "fixed-window 3/h"),
        (Some(5), "gcra 5/h of tokens"),
        (Some(40), "fixed-window 40/h per all"),
        (Some(30), "gcra 1/h burst 30 per ip"),
    ];
    let partner =
        [(Some(4), "gcra 1/h burst 4"), (None, "unlimited"), (Some(9), "gcra 9/h of tokens")];
    let of_ip = (Some(1), "token-bucket 1/h per ip");
    for (key, address, expected) in [
        ("someone", "203.0.113.9", [own, windows, tokens, all, ip]),
        ("partner", "203.0.113.9", [partner[0], partner[1], partner[2], all, ip]),
        ("someone", "192.0.2.1", [own, windows, tokens, all, of_ip]),
        ("partner", "192.0.2.1", [partner[0], partner[1], partner[2], all, of_ip]),
        // The same key of another subject.
        ("192.0.2.1", "partner", [own, windows, tokens, all, ip]),
    ] {
        let expected = expected.map(|(limit, line)| (limit, line.to_owned()));
        assert_eq!(peek(fixture, key, address), expected, "{key} {address}");
    }
    // The factor of a request scales them as any limit.
    let body = json!({"policy": "p", "key": "partner", "keys": {"ip": "a"}, "factor": 2});
    let peek = fixture.client.post("/v1/peek", &body.to_string());
    assert_eq!(peek.decision(), (true, Some(2), Some(2)));
}

#[test]
fn own_limits_hold_over_both_protocols() {
    let fixture = &mut Fixture::new(
        "[policy.p]\nlimits = [\"gcra 1/h burst 1\"]\noverrides = [{ key = \"vip\", limits = [\"gcra 1/h burst 3\"] }]",
    );
    let mut resp = Client::resp(&fixture.server);
    let mut check = |key: &str| resp.request(format!("TG.CHECK p {key}\r\n"));
    assert_eq!(check("vip"), "*5\r\n:1\r\n:3\r\n:2\r\n:0\r\n:3600000\r\n");
    assert_eq!(fixture.check("p", "vip"), (true, Some(3), Some(1)));
    assert_eq!(check("other"), "*5\r\n:1\r\n:1\r\n:0\r\n:3600000\r\n:3600000\r\n");
    assert_eq!(fixture.check("p", "other"), (false, Some(1), Some(0)));
    let denied = fixture.client.get("/check?policy=p&key=vip&cost=2");
    assert_eq!(denied.header("ratelimit-policy"), Some("\"p\";q=1;w=3600;tollgate-burst=3"));
}

/// What is used stays used, whether an override comes or goes.
#[test]
fn counts_carry_over_when_an_override_changes() {
    let with = |overrides: &str| {
        policies(&format!("[policy.p]\nlimits = [\"fixed-window 5/h\"]\noverrides = [{overrides}]"))
    };
    let fixture = &mut Fixture::new("[policy.p]\nlimits = [\"fixed-window 5/h\"]");
    for left in [4, 3] {
        assert_eq!(fixture.check("p", "a"), (true, Some(5), Some(left)));
    }
    fixture
        .server
        .set_policies(&with("{ key = \"a\", limits = [\"fixed-window 10/h\"] }"))
        .unwrap();
    assert_eq!(fixture.check("p", "a"), (true, Some(10), Some(7)));
    fixture.server.set_policies(&with("{ key = \"a\", limits = [\"fixed-window 4/h\"] }")).unwrap();
    assert_eq!(fixture.check("p", "a"), (true, Some(4), Some(0)));
    fixture.server.set_policies(&with("")).unwrap();
    assert_eq!(fixture.check("p", "a"), (true, Some(5), Some(0)));
}

/// Own limits say nothing about the candidate.
#[test]
fn own_limits_do_not_change_the_candidate() {
    let mut fixture = Fixture::new(
        "[policy.p]\nlimits = [\"gcra 1/h burst 2\"]\ncandidate = [\"gcra 1/h burst 3\"]\n\
         overrides = [{ key = \"vip\", limits = [\"gcra 1/h burst 9\"] }]",
    );
    for _ in 0..5 {
        assert!(fixture.check("p", "vip").0);
    }
    assert_eq!(differences(&mut fixture), [2.0, 0.0]);
}

/// A program may make a config without a file; it is checked all the same.
#[test]
fn an_override_that_does_not_fit_is_refused() {
    let fixture = Fixture::new("[policy.p]\nlimits = [\"gcra 1/s\"]");
    let mut config = policies(OWN_LIMITS).remove(0);
    config.policy = Policy::new(config.policy.name().clone(), config.policy.limits()[..4].to_vec());
    let error = fixture.server.set_policies(&[config]).unwrap_err().to_string();
    let expected = "an override of p: has 1 limit; expected 0";
    assert!(error.contains(expected), "{error}");
}
