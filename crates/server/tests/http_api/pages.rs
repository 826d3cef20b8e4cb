//! Pages: health, policies and the OpenAPI description.

use serde_json::{Value, json};

use crate::Fixture;
use crate::support::http::Response;

const POLICIES: &str = "
[policy.default]
limits = [\"gcra 1/s burst 100\"]
on_failure = \"deny\"
distribution = \"prefetch\"
[policy.api]
limits = [\"gcra 100/s burst 200\", \"fixed-window 1000000/month per user\"]
candidate = [\"gcra 50/s burst 100\"]
enforce = \"25%\"
headers = \"x-epoch\"
overrides = [{ key = \"user=42\", factor = 0.1 }, { key = \"secret\", factor = 3 }]
";

#[test]
fn health_and_readiness() {
    let fixture = &mut Fixture::new(POLICIES);
    for (path, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let Response { status, body, headers } = fixture.client.get(path);
        assert_eq!((status, body.as_str()), (200, text));
        assert!(headers.contains(&("cache-control".into(), "no-store".into())), "{headers:?}");
    }
}

#[test]
fn policies_are_listed_without_keys() {
    let fixture = &mut Fixture::new(POLICIES);
    let response = fixture.client.get("/v1/policies");
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")));
    let expected = json!({"policies": [
        {
            "name": "api",
            "limits": ["gcra 100/s burst 200", "fixed-window 1000000/month per user"],
            "candidate": ["gcra 50/s burst 100"],
            "enforce": "25%",
            "headers": "x-epoch",
            "on_failure": "allow",
            "distribution": "strict",
            "overrides": 2,
            "generation": 1,
        },
        {
            "name": "default",
            "limits": ["gcra 1/s burst 100"],
            "candidate": [],
            "enforce": "on",
            "headers": "ietf",
            "on_failure": "deny",
            "distribution": "prefetch",
            "max_slice": "5%",
            "overrides": 0,
            "generation": 1,
        },
    ]});
    assert_eq!(response.json(), expected);
    assert!(!response.body.contains("42") && !response.body.contains("secret"));
    let none = &mut Fixture::new("");
    assert_eq!(none.client.get("/v1/policies").json(), json!({"policies": []}));
}

/// The examples of all described operations succeed, or find nothing to act on.
#[test]
fn the_openapi_description_is_correct() {
    let jobs = "[policy.jobs]\nlimits = [\"concurrency 2 ttl 30s\"]";
    let fixture = &mut Fixture::new(&format!("{POLICIES}{jobs}"));
    let response = fixture.client.get("/openapi.json");
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")));
    let api = response.json();
    assert_eq!(api["openapi"], "3.1.0");
    assert_eq!(api["info"]["version"], env!("CARGO_PKG_VERSION"));
    let paths = api["paths"].as_object().unwrap();
    assert!(paths.len() >= 16, "{}", paths.len());
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            let body = operation["requestBody"]["content"]["application/json"]["example"].clone();
            let body = if body.is_null() { String::new() } else { body.to_string() };
            let method = method.to_uppercase();
            fixture.client.send(format!(
                "{method} {path}?key=a HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            ));
            let is_head = method == "HEAD";
            let response = if is_head { fixture.client.head() } else { fixture.client.response() };
            let is_missing = response.status == 409 && !operation["responses"]["409"].is_null();
            assert!(response.status == 200 || is_missing, "{method} {path}: {response:?}");
        }
    }
    assert_refs(&api, &api);
}

/// Checks that the target of every `$ref` exists.
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
fn a_head_request_gets_the_headers_of_the_page() {
    let fixture = &mut Fixture::new(POLICIES);
    for path in ["/healthz", "/readyz", "/metrics", "/v1/policies", "/openapi.json"] {
        let page = fixture.client.get(path);
        fixture.client.send(format!("HEAD {path} HTTP/1.1\r\nhost: t\r\n\r\n"));
        let head = fixture.client.head();
        let kind = |response: &Response| {
            (response.status, response.header("content-type").map(String::from))
        };
        assert_eq!(kind(&head), kind(&page), "{path}");
        if path != "/metrics" {
            assert_eq!(head.header("content-length"), page.header("content-length"), "{path}");
        }
    }
    fixture.client.assert_healthy();
}
