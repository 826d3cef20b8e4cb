//! Invalid and unusual header fields.

use crate::case::{Case, Reply};
use crate::support::http::{HEALTHZ, get};

const NOT_HTTP: &str = "malformed HTTP request";

/// Invalid header fields, sent after the request line.
const INVALID_FIELDS: [&[u8]; 25] = [
    b"host : t",
    b"host\t: t",
    b" host: t",
    b"\thost: t",
    b"host: t\r\n x-folded: y",
    b"host: t\r\nx: a\r\n folded",
    b"host: t\r\nx: a\r\n\tfolded",
    b"host: t\r\nx",
    b"host: t\r\n: x",
    b"host: t\r\nx y: z",
    b"host: t\r\nx(y): z",
    b"host: t\r\nx,y: z",
    b"host: t\r\nx/y: z",
    b"host: t\r\nx\"y: z",
    b"host: t\r\nx\0y: z",
    b"host: t\r\n\xc3\xa4: z",
    b"host: t\r\nx\r: z",
    b"host: t\r\nx: a\0b",
    b"host: t\r\nx: a\rb",
    b"host: t\r\nx: a\r\rb",
    b"host: t\r\nx: a\x07b",
    b"host: t\r\nx: a\x1bb",
    b"host: t\r\nx: a\x7fb",
    b"host: t\r\nx: a\r\n\0",
    b"host: t\r\ncontent-length : 0",
];

/// Sent after `GET /healthz HTTP/1.1`, with the status and the error.
const REJECTED: [(&str, u16, &str); 18] = [
    ("", 400, "missing Host header"),
    ("x-host: t\r\n", 400, "missing Host header"),
    ("host: t\r\nhost: t\r\n", 400, "more than one Host header"),
    ("host: t\r\nHOST: u\r\n", 400, "more than one Host header"),
    ("host: t\r\nexpect: 200-ok\r\n", 417, "unsupported Expect header; expected 100-continue"),
    ("host: t\r\nexpect:\r\n", 417, "unsupported Expect header; expected 100-continue"),
    (
        "host: t\r\nexpect: 100-continue, x\r\n",
        417,
        "unsupported Expect header; expected 100-continue",
    ),
    ("host: t\r\ncontent-length:\r\n", 400, "invalid Content-Length header"),
    ("host: t\r\ncontent-length: -1\r\n", 400, "invalid Content-Length header"),
    ("host: t\r\ncontent-length: +5\r\n", 400, "invalid Content-Length header"),
    ("host: t\r\ncontent-length: 5 5\r\n", 400, "invalid Content-Length header"),
    ("host: t\r\ncontent-length: 5, 5\r\n", 400, "invalid Content-Length header"),
    ("host: t\r\ncontent-length: 5,5\r\n", 400, "invalid Content-Length header"),
    ("host: t\r\ncontent-length: 0x5\r\n", 400, "invalid Content-Length header"),
    ("host: t\r\ncontent-length: 5.0\r\n", 400, "invalid Content-Length header"),
    ("host: t\r\ncontent-length: 1e1\r\n", 400, "invalid Content-Length header"),
    ("host: t\r\ncontent-length: \"5\"\r\n", 400, "invalid Content-Length header"),
    ("host: t\r\ncontent-length: \u{664}\r\n", 400, "invalid Content-Length header"),
];

/// The length of the body must be given once; otherwise another parser could end the body elsewhere.
const AMBIGUOUS: [&str; 7] = [
    "content-length: 5\r\ncontent-length: 5\r\n\r\nabcde",
    "content-length: 5\r\ncontent-length: 6\r\n\r\nabcde",
    "content-length: 5\r\nContent-Length: 0\r\n\r\nabcde",
    "content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
    "transfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n",
    "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
];

const ENCODINGS: [&str; 9] = [
    "gzip",
    "identity",
    "gzip, chunked",
    "chunked, gzip",
    "chunked, chunked",
    "chunked;q=1",
    "xchunked",
    "\"chunked\"",
    "",
];

/// The server must reject these (RFC 9112, 3.2).
const INVALID_HOSTS: [&str; 4] = ["a b", "http://t/", "t/path", "t\u{e4}"];

/// Unusual, but accepted.
const UNUSUAL: [&[u8]; 14] = [
    b"host:t",
    b"host: \t t \t ",
    b"host:",
    b"host: t:8080",
    b"host: [::1]:8080",
    b"HoSt: t",
    b"host: t\r\nx:",
    b"host: t\r\nx: \xff\xfe",
    b"host: t\r\nx: a\tb",
    b"host: t\r\n!#$%&'*+-.^_`|~: odd",
    b"host: t\r\nconnection: keep-alive, upgrade\r\nupgrade: h2c\r\nhttp2-settings: x",
    b"host: t\r\nconnection: closed",
    b"host: t\r\ncontent-length: 0",
    b"host: t\r\ncontent-length: 000000000000000000000000000000000000000000000000",
];

/// Which connections stay open after a response.
fn connections() -> Vec<Case> {
    let healthy = || Reply::page("ok\n");
    let new = |fields: &str| format!("GET /healthz HTTP/1.1\r\nhost: t\r\n{fields}\r\n");
    let old = |fields: &str| format!("GET /healthz HTTP/1.0\r\n{fields}\r\n");
    let closes = |sent: String| Case::closes(sent, healthy().closing());
    vec![
        closes(new("connection: close\r\n")),
        closes(new("Connection: Close\r\n")),
        closes(new("connection: x , CLOSE ,y\r\n")),
        closes(new("connection: keep-alive\r\nconnection: close\r\n")),
        closes(new("connection: close, keep-alive\r\n")),
        closes(new("connection: close\r\n") + HEALTHZ),
        closes(old("")),
        closes(old("host: t\r\n")),
        closes(old("connection: close\r\n")),
        closes(old("connection: upgrade\r\n")),
        // A client of HTTP/1.0 waits for the end of the connection unless it is told to keep it alive.
        Case::stays(
            old("connection: keep-alive\r\n"),
            healthy().fields("cache-control: no-store\r\nconnection: keep-alive\r\n"),
        ),
        Case::malformed(old("host: t\r\nhost: t\r\n"), 400, "more than one Host header"),
        Case::malformed(
            old("transfer-encoding: chunked\r\n") + "0\r\n\r\n",
            400,
            "transfer-encoding is not part of HTTP/1.0",
        ),
    ]
}

/// Sizes at a limit, and one beyond it.
fn sizes() -> Vec<Case> {
    let many = |count: usize| {
        let fields: String = (0..count).map(|number| format!("x-{number}: y\r\n")).collect();
        format!("GET /healthz HTTP/1.1\r\n{fields}host: t\r\n\r\n")
    };
    let long = |bytes: usize| {
        let rest = "GET /healthz HTTP/1.1\r\nhost: t\r\nx: \r\n\r\n".len();
        let value = "y".repeat(bytes - rest);
        format!("GET /healthz HTTP/1.1\r\nhost: t\r\nx: {value}\r\n\r\n")
    };
    let (too_many, too_long) = ("too many header fields", "request head too large");
    vec![
        Case::stays(many(99), Reply::page("ok\n")),
        Case::malformed(many(100), 431, too_many),
        Case::malformed(many(500), 431, too_many),
        Case::stays(long(16_384), Reply::page("ok\n")),
        Case::malformed(long(16_385), 431, too_long),
        Case::malformed(long(100_000), 431, too_long),
        Case::malformed(get("/healthz").replace("t\r\n\r\n", &"t".repeat(20_000)), 431, too_long),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let with = |fields: &[u8]| [b"GET /healthz HTTP/1.1\r\n", fields, b"\r\n\r\n"].concat();
    let mut cases = sizes();
    cases.extend(INVALID_FIELDS.map(|fields| Case::malformed(with(fields), 400, NOT_HTTP)));
    cases.extend(REJECTED.map(|(fields, status, why)| {
        Case::malformed(format!("GET /healthz HTTP/1.1\r\n{fields}\r\n"), status, why)
    }));
    cases.extend(AMBIGUOUS.map(|rest| {
        let sent = format!("POST /v1/check HTTP/1.1\r\nhost: t\r\n{rest}");
        Case::malformed(sent, 400, "more than one body length")
    }));
    cases.extend(ENCODINGS.map(|name| {
        let head = "POST /v1/check HTTP/1.1\r\nhost: t\r\ntransfer-encoding:";
        let why = "unsupported Transfer-Encoding header; expected chunked";
        Case::malformed(format!("{head} {name}\r\n\r\n0\r\n\r\n"), 501, why)
    }));
    cases.extend(INVALID_HOSTS.map(|host| {
        let sent = format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\n\r\n");
        Case::malformed(sent, 400, "invalid Host header")
    }));
    cases.extend(UNUSUAL.map(|fields| Case::stays(with(fields), Reply::page("ok\n"))));
    cases.extend(connections());
    cases
}
