//! Unknown paths, and methods that a path does not support.

use crate::case::{Case, FRESH_FIELDS, Reply};

const NOWHERE: &str = "no such path; see /openapi.json";

const UNKNOWN_PATHS: [&str; 20] = [
    "/nowhere",
    "//healthz",
    "/healthz/",
    "/Healthz",
    "/healthz%20",
    "/healthz;x",
    "/./healthz",
    "/x/../healthz",
    "healthz",
    "*",
    "/v1",
    "/v1/",
    "/v1/check/",
    "/v1/checks",
    "/v1/Check",
    "/v2/check",
    "/v1/check/batch/",
    "/v1/peek/batch",
    "/metrics.json",
    "/check/x",
];

const PAGES: [&str; 5] = ["/healthz", "/readyz", "/metrics", "/v1/policies", "/openapi.json"];
const ACTS: [&str; 10] = [
    "/v1/check",
    "/v1/peek",
    "/v1/refund",
    "/v1/charge",
    "/v1/reset",
    "/v1/reserve",
    "/v1/settle",
    "/v1/release",
    "/v1/renew",
    "/v1/check/batch",
];

/// The absolute form of a target, which every server must accept (RFC 9112, 3.2.2).
const ABSOLUTE: [&str; 4] = [
    "http://t/healthz",
    "HTTP://t:8080/healthz",
    "http://other.example/healthz?x=http://y/",
    "https://t/healthz",
];

fn request(method: &str, target: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nhost: t\r\n\r\n")
}

fn not_allowed(method: &'static str, target: &'static str, allow: &'static str) -> Case {
    let why = format!("method not allowed; expected {allow}");
    let fields = if allow == "POST" { "allow: POST\r\n" } else { "allow: GET, HEAD\r\n" };
    let reply = Reply::problem(405, &why).fields(fields);
    let is_head = method == "HEAD";
    let reply = if is_head { reply.only_head() } else { Vec::from(reply) };
    Case::stays(request(method, target), reply)
}

fn heads() -> Vec<Case> {
    let head = |target: &str, reply: Reply| Case::stays(request("HEAD", target), reply.only_head());
    vec![
        head("/healthz", Reply::page("ok\n")),
        head("/readyz", Reply::page("ready\n")),
        head("/nowhere", Reply::problem(404, NOWHERE)),
        head("/check?key=k&peek=1", Reply::allowed(FRESH_FIELDS)),
        head("/check?key=", Reply::problem(422, "key is empty; expected 1 to 1024 bytes")),
        // A response to HEAD has no body, even if it has a content-length (RFC 9110, 9.3.2).
        Case::closes(
            "HEAD /healthz HTTP/1.1\r\nhost: t\r\ncontent-length: 65537\r\n\r\n",
            Reply::problem(413, "request body too large; expected at most 65536 bytes")
                .closing_head(),
        ),
        Case::closes(
            "HEAD /healthz HTTP/1.1\r\n\r\n",
            Reply::problem(400, "missing Host header").closing_head(),
        ),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<_> =
        UNKNOWN_PATHS.map(|path| Case::rejected(request("GET", path), 404, NOWHERE)).into();
    let methods = ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", "FROBNICATE"];
    for page in PAGES {
        cases.extend(methods.map(|method| not_allowed(method, page, "GET, HEAD")));
    }
    for act in ACTS {
        cases.extend(["GET", "HEAD", "PUT", "post"].map(|method| not_allowed(method, act, "POST")));
    }
    cases.push(Case::rejected(request("OPTIONS", "*"), 404, NOWHERE));
    cases.push(Case::rejected(request("!#$%&'*+-.^_`|~", "/nowhere"), 404, NOWHERE));
    cases.extend(ABSOLUTE.map(|target| Case::stays(request("GET", target), Reply::page("ok\n"))));
    cases.extend(heads());
    cases
}
