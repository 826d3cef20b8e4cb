//! Bodies: how long they are, and the pieces they come in.

use crate::case::{Case, Reply};
use crate::support::http::post;

const BROKEN_PIECE: &str = "a piece of the body is malformed";
const TOO_LARGE: &str = "the body of the request is too large";
const HEAD: &str = "POST /v1/peek HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n";

/// What is answered to a peek of the policy `default` under an unused key.
const FRESH: &str = "{\"allowed\":true,\"limit\":5,\"remaining\":5,\"retry_after_ms\":0,\
                     \"reset_after_ms\":0,\"policy\":\"default\",\"bound_by\":\"gcra 1/s burst 5\"}";

/// Pieces that cannot be read.
const NO_PIECES: [&[u8]; 28] = [
    b"x\r\n",
    b"-1\r\n",
    b"+b\r\n",
    b"0x5\r\n",
    b" b\r\n",
    b"\tb\r\n",
    b"b\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    b"b\r{\"key\":\"k\"}\r\n0\r\n\r\n",
    b"b b\r\n",
    b"b\0\r\n",
    b"b,c\r\n",
    b"\xff\r\n",
    b"b\r\n{\"key\":\"k\"}x\r\n0\r\n\r\n",
    b"b\r\n{\"key\":\"k\"}\n0\r\n\r\n",
    b"b\r\n{\"key\":\"k\"}0\r\n\r\n",
    b"a\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    b"c\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    b"b\r\n{\"key\":\"k\"}\r\nx\r\n",
    b"b\r\n{\"key\":\"k\"}\r\n\xd9\xa0\r\n\r\n",
    b"00000000000000000\r\n\r\n",
    b"0000000000000000b\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    b"fffffffffffffffff\r\n",
    b"10000000000000000b\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    // A length has a digit (RFC 9112, 7.1).
    b"\r\n\r\n",
    b"b\r\n{\"key\":\"k\"}\r\n\r\n\r\n",
    b"b\r\n{\"key\":\"k\"}\r\n;x\r\n\r\n",
    b"b\r\n{\"key\":\"k\"}\r\n \r\n\r\n",
    // Whoever ends lines at a bare line feed sees other pieces than we do.
    b"b;x\ny\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
];

/// Fields after the last piece that are none: a request could hide in them from us and not from others.
const NO_TRAILERS: [&[u8]; 6] = [
    b"no field",
    b": x",
    b"x : y",
    b"x: a\0b",
    b"x: a\rb",
    b"x: y\n\nGET /healthz HTTP/1.1\nhost: t",
];

/// Pieces that are taken.
const PIECES: [&str; 12] = [
    "b\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "B\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "000000000000000b\r\n{\"key\":\"k\"}\r\n000\r\n\r\n",
    "b;x\r\n{\"key\":\"k\"}\r\n0;y=z\r\n\r\n",
    "b;x=\"a;b\"\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "b;\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "b \r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "b \t;x\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "1\r\n{\r\n9\r\n\"key\":\"k\"\r\n1\r\n}\r\n0\r\n\r\n",
    "b\r\n{\"key\":\"k\"}\r\n0\r\nx: y\r\n\r\n",
    "b\r\n{\"key\":\"k\"}\r\n0\r\ncontent-length: 5\r\nhost: u\r\nx:\r\n\r\n",
    "b\r\n{\"key\":\"k\"}\r\n0\r\ntransfer-encoding: chunked\r\n\r\n",
];

/// As one piece.
fn piece(body: &str) -> String {
    format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}

fn chunked(rest: impl AsRef<[u8]>) -> Vec<u8> {
    [HEAD.as_bytes(), b"transfer-encoding: chunked\r\n\r\n", rest.as_ref()].concat()
}

/// A peek whose body has as many bytes as this.
fn padded(bytes: usize) -> String {
    format!("{{\"key\":\"k\"{}}}", " ".repeat(bytes - "{\"key\":\"k\"}".len()))
}

/// A head of as many bytes as it may have.
fn longest(rest: &str) -> Vec<u8> {
    let filled = "transfer-encoding: chunked\r\nx: \r\n\r\n".len() + HEAD.len();
    let value = "y".repeat(16 * 1024 - filled);
    format!("{HEAD}transfer-encoding: chunked\r\nx: {value}\r\n\r\n{rest}").into()
}

/// At a bound, and one beyond it.
fn sizes() -> Vec<Case> {
    let most = 64 * 1024;
    let huge = |length: &str| format!("{HEAD}content-length: {length}\r\n\r\n");
    let fits = |sent: Vec<u8>| Case::stays(sent, Reply::json(FRESH));
    // The same body in pieces of one byte: much more to read, but no more to keep.
    let crumbs = |bytes: usize| -> String {
        padded(bytes).chars().map(|byte| format!("1\r\n{byte}\r\n")).collect::<String>()
            + "0\r\n\r\n"
    };
    vec![
        fits(post("/v1/peek", &padded(most)).into()),
        Case::broken(post("/v1/peek", &padded(most + 1)), 413, TOO_LARGE),
        Case::broken(huge("65537"), 413, TOO_LARGE),
        Case::broken(huge("1000000000000"), 413, TOO_LARGE),
        Case::broken(huge("18446744073709551615"), 413, TOO_LARGE),
        Case::broken(huge("18446744073709551616"), 413, TOO_LARGE),
        Case::broken(huge(&"9".repeat(1_000)), 413, TOO_LARGE),
        fits(chunked(piece(&padded(most)))),
        Case::broken(chunked(piece(&padded(most + 1))), 413, TOO_LARGE),
        // The longest head and the longest body together, with what stands between the pieces.
        fits(longest(&piece(&padded(most)))),
        Case::broken(chunked("10001\r\n"), 413, TOO_LARGE),
        Case::broken(chunked("ffffffffffffffff\r\n"), 413, TOO_LARGE),
        // One byte, and then all the rest but one more.
        Case::broken(chunked("1\r\na\r\n10000\r\nb"), 413, TOO_LARGE),
        fits(chunked(crumbs(10_000))),
        // What is longer than any buffer is not closed without a word.
        Case::broken(chunked(crumbs(30_000)), 413, TOO_LARGE),
        Case::broken(chunked(format!("b;{}", "x".repeat(100_000))), 413, TOO_LARGE),
        Case::broken(
            chunked(format!("0\r\nx: {}\r\n\r\n", "y".repeat(100_000))),
            431,
            "the head of the request is too long",
        ),
    ]
}

/// The client waits to be told that it may go on.
fn expectations() -> Vec<Case> {
    let body = "{\"key\":\"k\"}";
    let head = |line: &str, length: usize| {
        format!(
            "POST /v1/peek {line}\r\nhost: t\r\ncontent-type: application/json\r\n\
             expect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    let new = |length: usize| head("HTTP/1.1", length);
    vec![
        // All of it is there: there is nothing to wait for.
        Case::stays(new(body.len()) + body, Reply::json(FRESH)),
        Case::broken(new(65_537), 413, TOO_LARGE),
        Case::stays(
            "GET /healthz HTTP/1.1\r\nhost: t\r\nexpect: 100-Continue\r\n\r\n",
            Reply::page("ok\n"),
        ),
        Case::closes(head("HTTP/1.0", body.len()) + body, Reply::json(FRESH).closing()),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = sizes();
    cases.extend(NO_PIECES.map(|rest| Case::broken(chunked(rest), 400, BROKEN_PIECE)));
    cases.extend(NO_TRAILERS.map(|line| {
        let rest = [b"b\r\n{\"key\":\"k\"}\r\n0\r\n", line, b"\r\n\r\n"].concat();
        Case::broken(chunked(rest), 400, BROKEN_PIECE)
    }));
    cases.extend(PIECES.map(|rest| Case::stays(chunked(rest), Reply::json(FRESH))));
    cases.extend(expectations());
    let cut = ["", "b", "b\r\n", "b\r\n{", "b\r\n{\"key\":\"k\"}\r\n0\r\n", "0\r\nx: y\r\n"];
    cases.extend(cut.map(|rest| Case::cut_off(chunked(rest))));
    cases.push(Case::cut_off(format!("{HEAD}content-length: 5\r\n\r\nabcd")));
    // Bodies where none is asked for are read and passed over.
    let with_body = |method: &str, path: &str| {
        format!("{method} {path} HTTP/1.1\r\nhost: t\r\ncontent-length: 3\r\n\r\nabc")
    };
    cases.push(Case::stays(with_body("GET", "/healthz"), Reply::page("ok\n")));
    cases.push(Case::refused(with_body("POST", "/nowhere"), 404, NOWHERE));
    cases
}

const NOWHERE: &str = "there is nothing here; see /openapi.json";
