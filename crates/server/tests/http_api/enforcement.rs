//! Enforcement modes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tollgate::Enforce;

use crate::Fixture;
use crate::metrics::{decisions, samples};
use crate::support::Client;
use crate::support::http::Response;

fn enforced(enforce: &str) -> Fixture {
    Fixture::new(&format!("[policy.p]\nlimits = [\"gcra 1/s burst 1\"]\nenforce = \"{enforce}\""))
}

const CHECK: &str = "{\"policy\":\"p\",\"key\":\"a\"}";
const PROXY: &str = "/check?policy=p&key=a";

/// Uses up the limit. Returns the responses to the next check in JSON and to the next check of a proxy.
fn denied_responses(fixture: &mut Fixture) -> [Response; 2] {
    assert_eq!(fixture.client.post("/v1/check", CHECK).status, 200);
    [fixture.client.post("/v1/check", CHECK), fixture.client.get(PROXY)]
}

fn outcomes(fixture: &mut Fixture) -> [f64; 3] {
    let samples = samples(&mut fixture.client);
    ["allowed", "denied", "shadow_denied"].map(|outcome| samples[&decisions("p", outcome)])
}

#[test]
fn on_rejects() {
    let mut fixture = enforced("on");
    let [json, proxy] = denied_responses(&mut fixture);
    assert_eq!([json.status, proxy.status], [429, 429]);
    assert_eq!(outcomes(&mut fixture), [1.0, 2.0, 0.0]);
}

#[test]
fn shadow_counts_and_allows() {
    let mut fixture = enforced("shadow");
    let [json, proxy] = denied_responses(&mut fixture);
    assert_eq!((json.decision(), proxy.status), ((true, Some(1), Some(0)), 200));
    assert_eq!((&json.json()["retry_after_ms"], json.header("retry-after")), (&json!(0), None));
    assert_eq!((proxy.body.as_str(), proxy.header("retry-after")), ("", None));
    assert_eq!(fixture.client.post("/v1/peek", CHECK).decision(), (true, Some(1), Some(0)));
    assert_eq!(outcomes(&mut fixture), [1.0, 0.0, 2.0]);
}

/// A shadow ban: the denied client sees no difference, the application behind the proxy does.
#[test]
fn silent_allows_and_tells_only_the_application() {
    let mut fixture = enforced("silent");
    let first = fixture.client.get("/check?policy=p&key=b");
    assert_eq!((first.status, first.header("tollgate-silenced")), (200, None));
    let [json, proxy] = denied_responses(&mut fixture);
    assert_eq!(
        (json.decision(), &json.json()["would_deny"]),
        ((true, Some(1), Some(0)), &json!(true))
    );
    assert_eq!(
        (&json.json()["retry_after_ms"], json.header("tollgate-silenced")),
        (&json!(0), None)
    );
    assert_eq!((proxy.status, proxy.header("tollgate-silenced")), (200, Some("1")));
    let banned = fixture.client.get("/check?policy=p&key=b&deny_status=403");
    assert_eq!((banned.status, banned.header("tollgate-silenced")), (200, Some("1")));
    // But for that header, the two responses to the proxy are the same.
    let without = |response: &Response| {
        let mut headers = response.headers.clone();
        headers.retain(|(name, _)| name != "tollgate-silenced" && name != "date");
        (response.status, headers, response.body.clone())
    };
    assert_eq!(without(&first), without(&banned));
    assert_eq!(outcomes(&mut fixture), [2.0, 0.0, 0.0]);
    assert_eq!(samples(&mut fixture.client)[&decisions("p", "silenced")], 3.0);
}

const HEADERS: [&str; 3] = ["retry-after", "ratelimit", "ratelimit-policy"];

/// Neither before the limit is reached nor after: a header would tell the client that there is one.
#[test]
fn what_is_not_enforced_sends_no_header_of_a_limit() {
    for enforce in ["shadow", "silent", "0%", "off"] {
        let mut fixture = enforced(enforce);
        let before = [fixture.client.post("/v1/check", CHECK), fixture.client.get(PROXY)];
        let after = [fixture.client.post("/v1/check", CHECK), fixture.client.get(PROXY)];
        for response in before.iter().chain(&after) {
            assert_eq!(response.status, 200, "{enforce}");
            assert!(
                HEADERS.iter().all(|name| response.header(name).is_none()),
                "{enforce} {response:?}"
            );
            assert_eq!(response.header("cache-control"), Some("no-store"));
        }
        let would_deny = after[0].json().get("would_deny").cloned();
        assert_eq!(would_deny, (enforce != "off").then_some(json!(true)), "{enforce}");
        assert_eq!(before[0].json().get("would_deny"), None, "{enforce}");
        let is_silenced = after[1].header("tollgate-silenced").is_some();
        assert_eq!(is_silenced, enforce == "silent", "{enforce}");
    }
}

/// A client of the API may pass the headers on, whether the request was allowed or denied.
#[test]
fn json_comes_with_the_headers_of_the_policy() {
    let mut fixture = enforced("100%");
    let allowed = fixture.client.post("/v1/check", CHECK);
    let fields = HEADERS.map(|name| allowed.header(name));
    assert_eq!(fields, [None, Some("\"p\";r=0;t=1"), Some("\"p\";q=1;w=1")]);
    let denied = fixture.client.post("/v1/check", CHECK);
    let fields = HEADERS.map(|name| denied.header(name));
    assert_eq!(fields, [Some("1"), Some("\"p\";r=0;t=1"), Some("\"p\";q=1;w=1")]);
    assert_eq!(denied.json().get("would_deny"), None);
}

#[test]
fn off_counts_nothing() {
    let mut fixture = enforced("off");
    let [json, proxy] = denied_responses(&mut fixture);
    assert_eq!(json.decision(), (true, None, None));
    assert_eq!(json.json()["bound_by"], Value::Null);
    assert_eq!((proxy.status, proxy.header("ratelimit")), (200, None));
    assert_eq!(samples(&mut fixture.client)["tollgate_keys"], 0.0);
    // There are no limits, so no limit is announced.
    assert_eq!(proxy.header("ratelimit-policy"), None);
    // Keys are required nevertheless; otherwise requests would fail when the policy is switched on.
    assert_eq!(fixture.client.post("/v1/check", "{\"policy\":\"p\"}").status, 422);
}

/// About a quarter of all keys, and the same ones over every protocol.
#[test]
fn a_percentage_enforces_for_the_same_keys() {
    let (mut one, mut other) = (enforced("25%"), enforced("25%"));
    let percentage: Enforce = "25%".parse().unwrap();
    let mut denied = BTreeMap::new();
    for number in 0..400 {
        let key = format!("user-{number}");
        let body = json!({"policy": "p", "key": key, "cost": 2}).to_string();
        let json = one.client.post("/v1/check", &body).status == 429;
        let proxy = other.client.get(&format!("/check?policy=p&cost=2&key={key}")).status == 429;
        let mut resp = Client::resp(&other.server);
        let resp = resp.request(format!("TG.PEEK p {key} COST 2\r\n")).starts_with("*5\r\n:0\r\n");
        assert_eq!((json, json), (proxy, resp), "{key}");
        assert_eq!(json, percentage.holds_for(key.as_bytes()), "{key}");
        denied.insert(key, json);
    }
    let count = denied.values().filter(|denied| **denied).count();
    assert!((60..140).contains(&count), "{count} of 400");
    // A higher percentage includes the keys of a lower one.
    let mut more = enforced("60%");
    for (key, _) in denied.iter().filter(|(_, denied)| **denied) {
        let body = json!({"policy": "p", "key": key, "cost": 2}).to_string();
        assert_eq!(more.client.post("/v1/check", &body).status, 429, "{key}");
    }
}

/// The choice depends neither on the order of the keys nor on keys that no limit counts.
#[test]
fn a_percentage_enforces_for_the_same_subjects() {
    let limits = "limits = [\"gcra 1/s burst 1 per ip\", \"gcra 1/s burst 1 per user\"]";
    let fixture = &mut Fixture::new(&format!("[policy.p]\n{limits}\nenforce = \"25%\""));
    let mut check =
        |query: &str| fixture.client.get(&format!("/check?policy=p&cost=2&{query}")).status;
    let mut wrong = Vec::new();
    for number in 0..100 {
        let (ip, user) = (format!("key.ip=ip-{number}"), format!("key.user=user-{number}"));
        let statuses = [
            check(&format!("{ip}&{user}")),
            check(&format!("{user}&{ip}")),
            check(&format!("{ip}&{user}&key=other")),
            check(&format!("{ip}&key.x=other&{user}")),
        ];
        if statuses.iter().any(|status| *status != statuses[0]) {
            wrong.push((number, statuses));
        }
    }
    assert!(wrong.is_empty(), "{} of 100 differ: {wrong:?}", wrong.len());
}

/// `VERBOSE` says over the Redis protocol what the JSON body says, in either version.
#[test]
fn verbose_says_what_json_says() {
    let mut fixture = enforced("silent");
    assert!(fixture.check("p", "a").0);
    let mut resp = Client::resp(&fixture.server);
    let reset = "$14\r\nreset_after_ms\r\n:1000\r\n";
    let rest = "$6\r\npolicy\r\n$1\r\np\r\n$8\r\nbound_by\r\n$8\r\ngcra 1/s\r\n";
    let denied = format!(
        "$7\r\nallowed\r\n:1\r\n$10\r\nwould_deny\r\n:1\r\n$5\r\nlimit\r\n:1\r\n$9\r\nremaining\r\n:0\r\n\
         $14\r\nretry_after_ms\r\n:0\r\n{reset}{rest}"
    );
    assert_eq!(resp.request("TG.CHECK p a VERBOSE\r\n"), format!("*16\r\n{denied}"));
    resp.request("HELLO 3\r\n");
    let in_version_3 = denied.replacen(":1\r\n", "#t\r\n", 2);
    assert_eq!(resp.request("TG.CHECK p a verbose COST 1\r\n"), format!("%8\r\n{in_version_3}"));
    let allowed = resp.request("TG.PEEK p b VERBOSE\r\n");
    assert!(allowed.starts_with("%7\r\n$7\r\nallowed\r\n#t\r\n$5\r\nlimit\r\n:1\r\n"), "{allowed}");
    assert_eq!(resp.request("TG.CHECK p a\r\n"), "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1000\r\n");
}

#[test]
fn verbose_has_null_where_there_is_no_number() {
    let fixture =
        Fixture::new("[policy.p]\nlimits = [\"unlimited\"]\n[policy.q]\nlimits = [\"gcra 1/s\"]");
    let mut resp = Client::resp(&fixture.server);
    let unlimited = resp.request("TG.CHECK p a VERBOSE\r\n");
    assert!(unlimited.contains("$5\r\nlimit\r\n$-1\r\n$9\r\nremaining\r\n$-1\r\n"), "{unlimited}");
    resp.request("HELLO 3\r\n");
    let never = resp.request("TG.CHECK q a COST 2 VERBOSE\r\n");
    assert!(
        never.contains("allowed\r\n#f\r\n") && never.contains("retry_after_ms\r\n_\r\n"),
        "{never}"
    );
}
