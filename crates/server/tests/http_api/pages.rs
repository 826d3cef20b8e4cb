//! What can be looked at.

use serde_json::{Value, json};

use crate::Talk;
use crate::support::http::Answer;

const POLICIES: &str = "
[policy.default]
limits = [\"gcra 1/s burst 100\"]
[policy.api]
limits = [\"gcra 100/s burst 200\", \"fixed-window 1000000/month per user\"]
candidate = [\"gcra 50/s burst 100\"]
enforce = \"25%\"
headers = \"x-epoch\"
overrides = [{ key = \"user=42\", factor = 0.1 }, { key = \"secret\", factor = 3 }]
";

#[test]
fn it_says_that_it_is_there() {
    let talk = &mut Talk::of(POLICIES);
    for (path, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let Answer { status, body, fields } = talk.client.get(path);
        assert_eq!((status, body.as_str()), (200, text));
        assert!(fields.contains(&("cache-control".into(), "no-store".into())), "{fields:?}");
    }
}

#[test]
fn policies_are_listed_and_people_are_not() {
    let talk = &mut Talk::of(POLICIES);
    let answer = talk.client.get("/v1/policies");
    assert_eq!((answer.status, answer.field("content-type")), (200, Some("application/json")));
    let expected = json!({"policies": [
        {
            "name": "api",
            "limits": ["gcra 100/s burst 200", "fixed-window 1000000/month per user"],
            "candidate": ["gcra 50/s burst 100"],
            "enforce": "25%",
            "headers": "x-epoch",
            "overrides": 2,
        },
        {
            "name": "default",
            "limits": ["gcra 1/s burst 100"],
            "candidate": [],
            "enforce": "on",
            "headers": "ietf",
            "overrides": 0,
        },
    ]});
    assert_eq!(answer.json(), expected);
    assert!(!answer.body.contains("42") && !answer.body.contains("secret"));
    let none = &mut Talk::of("");
    assert_eq!(none.client.get("/v1/policies").json(), json!({"policies": []}));
}

/// Every operation that is described is answered as it is described.
#[test]
fn the_description_holds() {
    let talk = &mut Talk::of(POLICIES);
    let answer = talk.client.get("/openapi.json");
    assert_eq!((answer.status, answer.field("content-type")), (200, Some("application/json")));
    let api = answer.json();
    assert_eq!(api["openapi"], "3.1.0");
    assert_eq!(api["info"]["version"], env!("CARGO_PKG_VERSION"));
    let paths = api["paths"].as_object().unwrap();
    assert!(paths.len() >= 16, "{}", paths.len());
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            let body = operation["requestBody"]["content"]["application/json"]["example"].clone();
            let body = if body.is_null() { String::new() } else { body.to_string() };
            let method = method.to_uppercase();
            talk.client.send(format!(
                "{method} {path}?key=a HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            ));
            let is_head = method == "HEAD";
            let answer = if is_head { talk.client.head() } else { talk.client.answer() };
            assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
        }
    }
    assert_refs(&api, &api);
}

/// Whatever is referred to is there.
fn assert_refs(api: &Value, part: &Value) {
    match part {
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get("$ref") {
                let to = to.strip_prefix('#').unwrap();
                assert!(api.pointer(to).is_some(), "{to}");
            }
            members.values().for_each(|member| assert_refs(api, member));
        }
        Value::Array(items) => items.iter().for_each(|item| assert_refs(api, item)),
        _ => {}
    }
}

#[test]
fn a_head_is_the_head_of_the_page() {
    let talk = &mut Talk::of(POLICIES);
    for path in ["/healthz", "/readyz", "/metrics", "/v1/policies", "/openapi.json"] {
        let page = talk.client.get(path);
        talk.client.send(format!("HEAD {path} HTTP/1.1\r\nhost: t\r\n\r\n"));
        let head = talk.client.head();
        let kind =
            |answer: &Answer| (answer.status, answer.field("content-type").map(String::from));
        assert_eq!(kind(&head), kind(&page), "{path}");
        if path != "/metrics" {
            assert_eq!(head.field("content-length"), page.field("content-length"), "{path}");
        }
    }
    talk.client.is_healthy();
}
