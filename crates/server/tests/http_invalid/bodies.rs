//! Bodies: their length and their chunks.

use crate::case::{Case, Reply};
use crate::support::http::post;

const INVALID_CHUNK: &str = "malformed request body";
const TOO_LARGE: &str = "request body too large; expected at most 65536 bytes";
const HEAD: &str = "POST /v1/peek HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n";

/// Invalid chunks.
const INVALID_CHUNKS: [&[u8]; 26] = [
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
    b"fffffffffffffffff\r\n",
    b"10000000000000000b\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    // A chunk size has at least one digit (RFC 9112, 7.1).
    b"\r\n\r\n",
    b"b\r\n{\"key\":\"k\"}\r\n\r\n\r\n",
    b"b\r\n{\"key\":\"k\"}\r\n;x\r\n\r\n",
    b"b\r\n{\"key\":\"k\"}\r\n \r\n\r\n",
    // A parser that ends lines at a bare line feed would see other chunks than we do.
    b"b;x\ny\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
];

/// Invalid trailers: they could hide a request that another parser sees.
const INVALID_TRAILERS: [&[u8]; 5] = [b"no field", b": x", b"x : y", b"x: a\0b", b"x: a\rb"];

/// Trailers that hyper accepts. It would ignore all that follows the first empty line of the last.
const TRAILERS: [&str; 4] = [
    "x: y",
    "content-length: 5\r\nhost: u\r\nx:",
    "transfer-encoding: chunked",
    "x: y\n\nGET /healthz HTTP/1.1\nhost: t",
];

/// Valid chunks, and some with extensions that RFC 9112 (7.1.1) does not have. The lines end where every
/// parser ends them.
const VALID_CHUNKS: [&str; 14] = [
    "b\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "B\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "000000000000000b\r\n{\"key\":\"k\"}\r\n000\r\n\r\n",
    "0000000000000000b\r\n{\"key\":\"k\"}\r\n00000000000000000\r\n\r\n",
    "b;x\r\n{\"key\":\"k\"}\r\n0;y=z\r\n\r\n",
    "b;x=\"a;b\"\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "b \t;x\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "1\r\n{\r\n9\r\n\"key\":\"k\"\r\n1\r\n}\r\n0\r\n\r\n",
    "b;\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "b \r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "b;x \r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "b;x=\"a\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "b;(x)\r\n{\"key\":\"k\"}\r\n0\r\n\r\n",
    "b\r\n{\"key\":\"k\"}\r\n0;\r\n\r\n",
];

/// Encodes a body as one chunk.
fn chunk(body: &str) -> String {
    format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}

fn chunked(rest: impl AsRef<[u8]>) -> Vec<u8> {
    [HEAD.as_bytes(), b"transfer-encoding: chunked\r\n\r\n", rest.as_ref()].concat()
}

/// The body of a peek with this many bytes.
fn padded(bytes: usize) -> String {
    format!("{{\"key\":\"k\"{}}}", " ".repeat(bytes - "{\"key\":\"k\"}".len()))
}

/// A request with a head of the maximum size.
fn with_longest_head(rest: &str) -> Vec<u8> {
    let filled = "transfer-encoding: chunked\r\nx: \r\n\r\n".len() + HEAD.len();
    let value = "y".repeat(16 * 1024 - filled);
    format!("{HEAD}transfer-encoding: chunked\r\nx: {value}\r\n\r\n{rest}").into()
}

/// Sizes at a limit, and one beyond it.
fn sizes() -> Vec<Case> {
    let max = 64 * 1024;
    let huge = |length: &str| format!("{HEAD}content-length: {length}\r\n\r\n");
    let fits = |sent: Vec<u8>| Case::stays(sent, Reply::fresh());
    // The same body in chunks of one byte: many more bytes on the wire, but no more to keep.
    let tiny_chunks = |bytes: usize| -> String {
        padded(bytes).chars().map(|byte| format!("1\r\n{byte}\r\n")).collect::<String>()
            + "0\r\n\r\n"
    };
    vec![
        fits(post("/v1/peek", &padded(max)).into()),
        Case::malformed(post("/v1/peek", &padded(max + 1)), 413, TOO_LARGE),
        // What the client goes on to send is read, so that it gets its response.
        Case::malformed(post("/v1/peek", &padded(900_000)), 413, TOO_LARGE),
        Case::malformed(huge("65537"), 413, TOO_LARGE),
        Case::malformed(huge("1000000000000"), 413, TOO_LARGE),
        // More than hyper counts to.
        Case::refused(huge("18446744073709551615"), 431),
        Case::refused(huge("18446744073709551616"), 400),
        Case::refused(huge(&"9".repeat(1_000)), 400),
        fits(chunked(chunk(&padded(max)))),
        Case::malformed(chunked(chunk(&padded(max + 1))), 413, TOO_LARGE),
        // The longest head and the longest body together.
        fits(with_longest_head(&chunk(&padded(max)))),
        // One byte, and then a chunk that makes the body one byte too large.
        Case::malformed(chunked("1\r\na\r\n".to_owned() + &chunk(&padded(max))), 413, TOO_LARGE),
        // A body of the maximum size in chunks of one byte, and of one byte more.
        fits(chunked(tiny_chunks(max))),
        Case::malformed(chunked(tiny_chunks(max + 1)), 413, TOO_LARGE),
        // Extensions and trailers have bounds as well.
        Case::malformed(chunked(format!("b;{}", "x".repeat(100_000))), 400, INVALID_CHUNK),
        Case::malformed(
            chunked(format!("0\r\nx: {}\r\n\r\n", "y".repeat(100_000))),
            400,
            INVALID_CHUNK,
        ),
    ]
}

/// Requests with `expect: 100-continue`.
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
        Case::stays(
            new(body.len()) + body,
            [b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), Reply::fresh().into()].concat(),
        ),
        // The client need not send the body at all.
        Case::malformed(new(65_537), 413, TOO_LARGE),
        Case::stays(
            "GET /healthz HTTP/1.1\r\nhost: t\r\nexpect: 100-Continue\r\n\r\n",
            Reply::page("ok\n"),
        ),
        Case::closes(head("HTTP/1.0", body.len()) + body, Reply::fresh().old()),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = sizes();
    cases.extend(INVALID_CHUNKS.map(|rest| Case::malformed(chunked(rest), 400, INVALID_CHUNK)));
    let trailers =
        |line: &[u8]| chunked([b"b\r\n{\"key\":\"k\"}\r\n0\r\n", line, b"\r\n\r\n"].concat());
    cases.extend(INVALID_TRAILERS.map(|line| Case::malformed(trailers(line), 400, INVALID_CHUNK)));
    cases.extend(
        TRAILERS
            .map(|lines| Case::malformed(trailers(lines.as_bytes()), 400, "unexpected trailers")),
    );
    cases.extend(VALID_CHUNKS.map(|rest| Case::stays(chunked(rest), Reply::fresh())));
    cases.extend(expectations());
    let cut = ["", "b", "b\r\n", "b\r\n{", "b\r\n{\"key\":\"k\"}\r\n0\r\n", "0\r\nx: y\r\n"];
    let incomplete =
        |sent| Case::cut_off(sent).with_reply(Reply::problem(400, INVALID_CHUNK).closing());
    cases.extend(cut.map(|rest| incomplete(chunked(rest))));
    cases.push(incomplete(format!("{HEAD}content-length: 5\r\n\r\nabcd").into()));
    // Bodies that a path does not need are read and ignored.
    let with_body = |method: &str, path: &str| {
        format!("{method} {path} HTTP/1.1\r\nhost: t\r\ncontent-length: 3\r\n\r\nabc")
    };
    cases.push(Case::stays(with_body("GET", "/healthz"), Reply::page("ok\n")));
    cases.push(Case::rejected(with_body("POST", "/nowhere"), 404, NOWHERE));
    cases
}

const NOWHERE: &str = "no such path; see /openapi.json";
