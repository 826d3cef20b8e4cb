//! Invalid and unusual header fields.

use crate::case::{Case, Reply};
use crate::support::http::{HEALTHZ, get};

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

/// Sent after `GET /healthz HTTP/1.1`, with the error.
const REJECTED: [(&str, &str); 4] = [
    ("", "missing Host header"),
    ("x-host: t\r\n", "missing Host header"),
    ("host: t\r\nhost: t\r\n", "more than one Host header"),
    ("host: t\r\nHOST: u\r\n", "more than one Host header"),
];

const INVALID_LENGTHS: [&str; 13] = [
    "",
    "-1",
    "+5",
    "5 5",
    "5, 5",
    "5,5",
    "5,6",
    "0x5",
    "5.0",
    "1e1",
    "\"5\"",
    "\u{664}",
    "18446744073709551616",
];

/// Lengths that differ: another parser could end the body elsewhere.
const AMBIGUOUS: [&str; 3] = [
    "content-length: 5\r\ncontent-length: 6\r\n\r\nabcde",
    "content-length: 5\r\nContent-Length: 0\r\n\r\nabcde",
    "content-length: 5\r\ncontent-length: 05 \r\ncontent-length: 6\r\n\r\nabcde",
];

/// A length and chunks: the chunks count, and nothing that follows is answered (RFC 9112, 6.1).
const LENGTH_AND_CHUNKS: [&str; 4] = [
    "content-length: 5\r\ntransfer-encoding: chunked\r\n",
    "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
    "transfer-encoding: chunked\r\ncontent-length: 0\r\n",
    "transfer-encoding: chunked\r\ncontent-length: x\r\n",
];

/// The last encoding is not `chunked`, so that the length of the body is unknown.
const WITHOUT_LENGTH: [&str; 8] = [
    "gzip",
    "identity",
    "chunked, gzip",
    "chunked;q=1",
    "xchunked",
    "\"chunked\"",
    "chunked\r\ntransfer-encoding: gzip",
    "",
];

/// The body is chunked, but that is not all.
const ENCODINGS: [&str; 5] = [
    "gzip, chunked",
    "chunked, chunked",
    ", chunked",
    "chunked\r\ntransfer-encoding: chunked",
    "gzip\r\ntransfer-encoding: chunked",
];

/// The server must reject these (RFC 9112, 3.2).
const INVALID_HOSTS: [&str; 4] = ["a b", "http://t/", "t/path", "t\u{e4}"];

/// Unusual, but accepted.
const UNUSUAL: [&[u8]; 18] = [
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
    b"host: t\r\ncontent-length: 0\r\ncontent-length: 0",
    b"host: t\r\nexpect: 200-ok",
    b"host: t\r\nexpect:",
    b"host: t\r\nexpect: 100-continue, x",
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
        Case::closes(old(""), healthy().old()),
        Case::closes(old("host: t\r\n"), healthy().old()),
        Case::closes(old("connection: close\r\n"), healthy().old()),
        Case::closes(old("connection: upgrade\r\n"), healthy().old()),
        // A client of HTTP/1.0 waits for the end of the connection unless it is told to keep it alive.
        Case::stays(old("connection: keep-alive\r\n"), healthy().old().keeping_alive()),
        Case::closes(
            old("host: t\r\nhost: t\r\n"),
            Reply::problem(400, "more than one Host header").old().closing(),
        ),
        // `transfer-encoding` is not part of HTTP/1.0.
        Case::refused(old("transfer-encoding: chunked\r\n") + "0\r\n\r\n", 400),
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
    vec![
        Case::stays(many(99), Reply::page("ok\n")),
        Case::refused(many(100), 431),
        Case::refused(many(500), 431),
        Case::stays(long(16_384), Reply::page("ok\n")),
        Case::refused(long(16_385), 431),
        Case::refused(long(100_000), 431),
        Case::refused(get("/healthz").replace("t\r\n\r\n", &"t".repeat(20_000)), 431),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let with = |fields: &[u8]| [b"GET /healthz HTTP/1.1\r\n", fields, b"\r\n\r\n"].concat();
    let mut cases = sizes();
    cases.extend(INVALID_FIELDS.map(|fields| Case::refused(with(fields), 400)));
    cases.extend(REJECTED.map(|(fields, why)| {
        Case::malformed(format!("GET /healthz HTTP/1.1\r\n{fields}\r\n"), 400, why)
    }));
    cases.extend(INVALID_LENGTHS.map(|length| {
        Case::refused(with(format!("host: t\r\ncontent-length: {length}").as_bytes()), 400)
    }));
    let post = |rest: &str| format!("POST /v1/check HTTP/1.1\r\nhost: t\r\n{rest}");
    cases.extend(AMBIGUOUS.map(|rest| Case::refused(post(rest), 400)));
    cases.extend(LENGTH_AND_CHUNKS.map(|fields| {
        let sent = format!("GET /healthz HTTP/1.1\r\nhost: t\r\n{fields}\r\n0\r\n\r\n{HEALTHZ}");
        Case::closes(sent, Reply::page("ok\n").closing())
    }));
    let encoded = |name: &str| post(&format!("transfer-encoding: {name}\r\n\r\n0\r\n\r\n"));
    cases.extend(WITHOUT_LENGTH.map(|name| Case::refused(encoded(name), 400)));
    cases.extend(ENCODINGS.map(|name| {
        let why = "unsupported Transfer-Encoding header; expected chunked";
        Case::malformed(encoded(name), 501, why)
    }));
    cases.extend(INVALID_HOSTS.map(|host| {
        let sent = format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\n\r\n");
        Case::malformed(sent, 400, "invalid Host header")
    }));
    cases.extend(UNUSUAL.map(|fields| Case::stays(with(fields), Reply::page("ok\n"))));
    cases.extend(connections());
    cases
}
