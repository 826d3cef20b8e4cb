//! Request lines, and bytes that are none.

use crate::case::{Case, Reply};
use crate::support::array;
use crate::support::http::HEALTHZ;

const NOT_HTTP: &str = "this is not HTTP";

/// Each with a host and an empty line after it.
const NO_LINES: [&str; 36] = [
    "GET /healthz",
    "GET",
    "GET ",
    "GET  /healthz HTTP/1.1",
    "GET /healthz  HTTP/1.1",
    "GET\t/healthz\tHTTP/1.1",
    "GET /healthz HTTP/1.1 ",
    "GET /healthz HTTP/1.1\t",
    "GET /health z HTTP/1.1",
    "GET /healthz http/1.1",
    "GET /healthz HTTP/1",
    "GET /healthz HTTP/1.",
    "GET /healthz HTTP/.1",
    "GET /healthz HTTP/11",
    "GET /healthz HTTP/1.1.1",
    "GET /healthz HTTP/01.1",
    "GET /healthz HTTP/1.01",
    "GET /healthz HTTP/0.9",
    "GET /healthz HTTP/2.0",
    "GET /healthz HTTP/3",
    "GET /healthz HTTPS/1.1",
    "GET /healthz ICAP/1.0",
    "GET /healthz XXXX/1.1",
    " GET /healthz HTTP/1.1",
    "\tGET /healthz HTTP/1.1",
    ": GET /healthz HTTP/1.1",
    "G:T /healthz HTTP/1.1",
    "G,T /healthz HTTP/1.1",
    "(GET) /healthz HTTP/1.1",
    "\"GET\" /healthz HTTP/1.1",
    "GET@ /healthz HTTP/1.1",
    "G\0T /healthz HTTP/1.1",
    "GÉT /healthz HTTP/1.1",
    "GET /heal\0thz HTTP/1.1",
    "GET /heal\x07thz HTTP/1.1",
    "GET /heal\x7fthz HTTP/1.1",
];

/// What speaks something else. The client is told in HTTP, since nothing else is spoken here.
const FOREIGN: [&[u8]; 15] = [
    // The start of a TLS ClientHello.
    b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03 0123456789",
    b"\x16\x03\x03\0\x7a\x01\0\0\x76\x03\x03",
    // SSL 2.
    b"\x80\x2e\x01\0\x02\0\x15\0\0\0\x10",
    b"\0",
    b"\xff\xfe\xfd",
    b"\xef\xbb\xbfGET /healthz HTTP/1.1\r\nhost: t\r\n\r\n",
    b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n",
    b"\r\n\r\n\0\r\nQUIT\n!\x11",
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"EHLO example.org\r\n",
    b"PING\r\n",
    b"$4\r\nPING\r\n",
    b"+OK\r\n",
    b"{\"key\":\"a\"}\n",
    b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
];

/// Lines that are taken, odd as they are.
fn odd() -> Vec<Case> {
    let healthy = || Vec::from(Reply::page("ok\n"));
    let line = |line: &str| format!("{line}\r\nhost: t\r\n\r\n");
    let stays = |sent: String| Case::stays(sent, healthy());
    vec![
        stays(format!("\r\n{HEALTHZ}")),
        stays(format!("\r\n\r\n\n\r\n{HEALTHZ}")),
        // A line may end without its carriage return.
        stays("GET /healthz HTTP/1.1\nhost: t\n\n".into()),
        stays("GET /healthz HTTP/1.1\r\nhost: t\n\r\n".into()),
        stays(line("GET /healthz? HTTP/1.1")),
        stays(line("GET /healthz?a=b&&=?%zz HTTP/1.1")),
        stays(line("GET /healthz?\"<>\\^`{|} HTTP/1.1")),
        // Two in one go, the second with a line between.
        Case::stays(format!("{HEALTHZ}\r\n{HEALTHZ}"), [healthy(), healthy()].concat()),
    ]
}

/// At a bound, and one beyond it.
fn sizes() -> Vec<Case> {
    let too_long = "the head of the request is too long";
    // The head has as many bytes as this.
    let of_target = |bytes: usize| {
        let rest = "GET /healthz? HTTP/1.1\r\nhost: t\r\n\r\n".len();
        format!("GET /healthz?{} HTTP/1.1\r\nhost: t\r\n\r\n", "x".repeat(bytes - rest))
    };
    let most = 16 * 1024;
    vec![
        Case::stays(of_target(most), Reply::page("ok\n")),
        Case::broken(of_target(most + 1), 431, too_long),
        Case::broken(of_target(most + 64 * 1024), 431, too_long),
        Case::broken("G".repeat(most), 431, too_long),
        Case::broken(format!("GET /{}", "x".repeat(most)), 431, too_long),
        Case::broken("\r\n".repeat(most), 431, too_long),
        Case::broken("\n".repeat(most), 431, too_long),
        // What came before is answered, what comes after is not.
        Case::closes(
            [HEALTHZ, "GET\r\n\r\n", HEALTHZ].concat(),
            [Reply::page("ok\n").into(), Reply::problem(400, NOT_HTTP).closing()].concat(),
        ),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = sizes();
    cases.extend(NO_LINES.map(|line| {
        let sent = format!("{line}\r\nhost: t\r\n\r\n");
        Case::broken(sent, 400, NOT_HTTP)
    }));
    cases.extend(FOREIGN.map(|sent| Case::broken(sent, 400, NOT_HTTP)));
    cases.push(Case::broken(array(&["TG.CHECK", "default", "k"]), 400, NOT_HTTP));
    cases.push(Case::broken("CL.THROTTLE k 15 30 60\r\n", 400, NOT_HTTP));
    cases.extend(odd());
    let cut = ["", "G", "GET /healthz HTTP/1.1\r\nhost: t\r\n\r", "PRI * HTTP/2.0\r\n\r\nSM"];
    cases.extend(cut.map(Case::cut_off));
    cases
}
