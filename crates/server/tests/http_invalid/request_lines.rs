//! Invalid and unusual request lines.

use crate::case::{Case, Reply};
use crate::support::array;
use crate::support::http::HEALTHZ;

/// Each is sent with a host and an empty line after it.
const INVALID_LINES: [&str; 40] = [
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
    "GET ? HTTP/1.1",
    "GET /healthz?\" HTTP/1.1",
    "GET /healthz?< HTTP/1.1",
    "GET /healthz?> HTTP/1.1",
];

/// Other protocols. The error is sent as HTTP, since this port serves nothing else.
const OTHER_PROTOCOLS: [&[u8]; 15] = [
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

/// Unusual requests that are accepted.
fn unusual() -> Vec<Case> {
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
        stays(line("GET /healthz?\\^`{|} HTTP/1.1")),
        // A fragment is not part of a target, and ignored.
        stays(line("GET /healthz#x HTTP/1.1")),
        // Two requests at once, with an empty line between them.
        Case::stays(format!("{HEALTHZ}\r\n{HEALTHZ}"), [healthy(), healthy()].concat()),
    ]
}

/// Sizes at a limit, and one beyond it.
fn sizes() -> Vec<Case> {
    // A request whose head has this many bytes.
    let of_target = |bytes: usize| {
        let rest = "GET /healthz? HTTP/1.1\r\nhost: t\r\n\r\n".len();
        format!("GET /healthz?{} HTTP/1.1\r\nhost: t\r\n\r\n", "x".repeat(bytes - rest))
    };
    let max = 16 * 1024;
    vec![
        Case::stays(of_target(max), Reply::page("ok\n")),
        Case::refused(of_target(max + 1), 431),
        Case::refused(of_target(max + 64 * 1024), 431),
        // What the client goes on to send is read, so that it gets its response.
        Case::refused(of_target(900_000), 431),
        Case::refused("GET\r\n\r\n".to_owned() + &"x".repeat(900_000), 400),
        Case::refused("G".repeat(max), 431),
        Case::refused(format!("GET /{}", "x".repeat(max)), 431),
        Case::refused("\r\n".repeat(max), 431),
        Case::refused("\n".repeat(max), 431),
        // The request before the error gets a response, the one after it does not.
        Case::closes(
            [HEALTHZ, "GET\r\n\r\n", HEALTHZ].concat(),
            [Reply::page("ok\n").into(), Reply::bare(400).closing()].concat(),
        ),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = sizes();
    cases.extend(INVALID_LINES.map(|line| {
        let sent = format!("{line}\r\nhost: t\r\n\r\n");
        Case::refused(sent, 400)
    }));
    cases.extend(OTHER_PROTOCOLS.map(|sent| Case::refused(sent, 400)));
    cases.push(Case::refused(array(&["TG.CHECK", "default", "k"]), 400));
    cases.push(Case::refused("CL.THROTTLE k 15 30 60\r\n", 400));
    cases.extend(unusual());
    let cut = ["", "G", "GET /healthz HTTP/1.1\r\nhost: t\r\n\r", "PRI * HTTP/2.0\r\n\r\nSM"];
    cases.extend(cut.map(Case::cut_off));
    cases
}
