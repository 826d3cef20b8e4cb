//! Header fields.

use crate::case::{Case, Reply};
use crate::support::http::{HEALTHZ, get};

const NOT_HTTP: &str = "this is not HTTP";

/// After the request line, with an empty line after them.
const NO_FIELDS: [&[u8]; 25] = [
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

/// After `GET /healthz HTTP/1.1` without a host: what is wrong with it.
const BROKEN: [(&str, u16, &str); 18] = [
    ("", 400, "there is no host"),
    ("x-host: t\r\n", 400, "there is no host"),
    ("host: t\r\nhost: t\r\n", 400, "there are several hosts"),
    ("host: t\r\nHOST: u\r\n", 400, "there are several hosts"),
    ("host: t\r\nexpect: 200-ok\r\n", 417, "only 100-continue can be expected"),
    ("host: t\r\nexpect:\r\n", 417, "only 100-continue can be expected"),
    ("host: t\r\nexpect: 100-continue, x\r\n", 417, "only 100-continue can be expected"),
    ("host: t\r\ncontent-length:\r\n", 400, "content-length is no number"),
    ("host: t\r\ncontent-length: -1\r\n", 400, "content-length is no number"),
    ("host: t\r\ncontent-length: +5\r\n", 400, "content-length is no number"),
    ("host: t\r\ncontent-length: 5 5\r\n", 400, "content-length is no number"),
    ("host: t\r\ncontent-length: 5, 5\r\n", 400, "content-length is no number"),
    ("host: t\r\ncontent-length: 5,5\r\n", 400, "content-length is no number"),
    ("host: t\r\ncontent-length: 0x5\r\n", 400, "content-length is no number"),
    ("host: t\r\ncontent-length: 5.0\r\n", 400, "content-length is no number"),
    ("host: t\r\ncontent-length: 1e1\r\n", 400, "content-length is no number"),
    ("host: t\r\ncontent-length: \"5\"\r\n", 400, "content-length is no number"),
    ("host: t\r\ncontent-length: \u{664}\r\n", 400, "content-length is no number"),
];

/// A field that says where the body ends must be said once, or others end it elsewhere.
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

/// The server must refuse these, says RFC 9112, 3.2.
const NO_HOSTS: [&str; 4] = ["a b", "http://t/", "t/path", "t\u{e4}"];

/// These are taken, odd as they are.
const ODD: [&[u8]; 14] = [
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

/// Who stays, and who is closed afterwards.
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
        // Whoever is that old waits for the end unless it is told that there is none.
        Case::stays(
            old("connection: keep-alive\r\n"),
            healthy().fields("cache-control: no-store\r\nconnection: keep-alive\r\n"),
        ),
        Case::broken(old("host: t\r\nhost: t\r\n"), 400, "there are several hosts"),
        Case::broken(
            old("transfer-encoding: chunked\r\n") + "0\r\n\r\n",
            400,
            "HTTP/1.0 knows no transfer-encoding",
        ),
    ]
}

/// At a bound, and one beyond it.
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
    let (too_many, too_long) =
        ("there are too many header fields", "the head of the request is too long");
    vec![
        Case::stays(many(99), Reply::page("ok\n")),
        Case::broken(many(100), 431, too_many),
        Case::broken(many(500), 431, too_many),
        Case::stays(long(16_384), Reply::page("ok\n")),
        Case::broken(long(16_385), 431, too_long),
        Case::broken(long(100_000), 431, too_long),
        Case::broken(get("/healthz").replace("t\r\n\r\n", &"t".repeat(20_000)), 431, too_long),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let with = |fields: &[u8]| [b"GET /healthz HTTP/1.1\r\n", fields, b"\r\n\r\n"].concat();
    let mut cases = sizes();
    cases.extend(NO_FIELDS.map(|fields| Case::broken(with(fields), 400, NOT_HTTP)));
    cases.extend(BROKEN.map(|(fields, status, why)| {
        Case::broken(format!("GET /healthz HTTP/1.1\r\n{fields}\r\n"), status, why)
    }));
    cases.extend(AMBIGUOUS.map(|rest| {
        let sent = format!("POST /v1/check HTTP/1.1\r\nhost: t\r\n{rest}");
        Case::broken(sent, 400, "the length of the body is given twice")
    }));
    cases.extend(ENCODINGS.map(|name| {
        let head = "POST /v1/check HTTP/1.1\r\nhost: t\r\ntransfer-encoding:";
        let why = "only chunked is known as transfer-encoding";
        Case::broken(format!("{head} {name}\r\n\r\n0\r\n\r\n"), 501, why)
    }));
    cases.extend(NO_HOSTS.map(|host| {
        let sent = format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\n\r\n");
        Case::broken(sent, 400, "the host is none")
    }));
    cases.extend(ODD.map(|fields| Case::stays(with(fields), Reply::page("ok\n"))));
    cases.extend(connections());
    cases
}
