//! Bytes that are not a command, commands that are too large, and other protocols.

use crate::case::Case;
use crate::support::array;

const INVALID_ARRAY_LENGTHS: [&str; 23] = [
    "*\r\n",
    "*abc\r\n",
    "*+1\r\n",
    "*-\r\n",
    "*--1\r\n",
    "*-0\r\nPING\r\n",
    "*01\r\n$4\r\nPING\r\n",
    "* 1\r\n",
    "*1 \r\n",
    "*1.0\r\n",
    "*0x1\r\n",
    "*1\n",
    "*1\r\r\n",
    "*\0\r\n",
    "*65\r\n",
    "*1025\r\n",
    "*2147483648\r\n",
    // These would be 1 if they were truncated to 32 or 64 bits.
    "*4294967297\r\n",
    "*18446744073709551617\r\n",
    "*99999999999\r\n",
    "*-99999999999999999999\r\n",
    "*00000000000000000000000000000001\r\n",
    // The server does not wait for the end of such a number.
    "*11111111111111111111111111111111",
];

/// Sent after `*1`.
const INVALID_BULK_LENGTHS: [&str; 21] = [
    "$\r\n",
    "$abc\r\n",
    "$+4\r\n",
    "$-\r\n",
    "$-0\r\n\r\n",
    "$-1\r\n",
    "$-2\r\n",
    "$04\r\nPING\r\n",
    "$ 4\r\n",
    "$4 \r\n",
    "$4.0\r\n",
    "$0x4\r\n",
    "$4\n",
    "$\0\r\n",
    "$4097\r\n",
    "$536870913\r\n",
    "$4294967300\r\n",
    "$18446744073709551620\r\n",
    "$99999999999999999999\r\n",
    "$-99999999999999999999\r\n",
    "$11111111111111111111111111111111",
];

const PROTOCOL_ERRORS: [(&[u8], &str); 29] = [
    (b"*1\r\n+PING\r\n", "expected '$', got '+'"),
    (b"*1\r\n-PING\r\n", "expected '$', got '-'"),
    (b"*1\r\n:1\r\n", "expected '$', got ':'"),
    (b"*1\r\n*1\r\n", "expected '$', got '*'"),
    (b"*1\r\n%1\r\n", "expected '$', got '%'"),
    (b"*1\r\nPING\r\n", "expected '$', got 'P'"),
    (b"*1\r\n4\r\n", "expected '$', got '4'"),
    (b"*1\r\n\r\n", "expected '$', got '\\r'"),
    (b"*1\r\n\n", "expected '$', got '\\n'"),
    (b"*1\r\n\0\r\n", "expected '$', got '\\x00'"),
    (b"*1\r\n\xff\r\n", "expected '$', got '\\xff'"),
    (b"*2\r\n$4\r\nECHO\r\n:1\r\n", "expected '$', got ':'"),
    (b"*64\r\nPING\r\n", "expected '$', got 'P'"),
    (b"*1\r\n$4\r\nPINGxx", "expected CRLF"),
    (b"*1\r\n$4\r\nPING\n\n", "expected CRLF"),
    (b"*1\r\n$4\r\nPING\rx", "expected CRLF"),
    (b"*1\r\n$3\r\nPING\r\n", "expected CRLF"),
    (b"*1\r\n$5\r\nPING\r\n\r\n", "expected CRLF"),
    (b"*1\r\n$0\r\nx\n", "expected CRLF"),
    (b"*2\r\n$4\r\nECHO\r\n$1\r\nab\r\n", "expected CRLF"),
    (b"ECHO \"a\r\n", "unbalanced quotes in request"),
    (b"ECHO 'a\r\n", "unbalanced quotes in request"),
    (b"ECHO \"a\"b\r\n", "unbalanced quotes in request"),
    (b"ECHO 'a'b\r\n", "unbalanced quotes in request"),
    (b"ECHO \"a\\\"\r\n", "unbalanced quotes in request"),
    (b"ECHO 'a\\'\r\n", "unbalanced quotes in request"),
    (b"ECHO \"\r\n", "unbalanced quotes in request"),
    (b"\"\r\n", "unbalanced quotes in request"),
    (b"ECHO a\"\r\n", "unbalanced quotes in request"),
];

/// Browsers and other HTTP clients get no reply, as they could take it for a response.
const HTTP: [&str; 14] = [
    "POST / HTTP/1.1\r\n",
    "post / HTTP/1.1\r\n",
    "POST\r\n",
    " POST /\r\n",
    "\"POST\" /\r\n",
    "Host: example.org\r\n",
    "HOST: example.org\r\n",
    "host:\r\n",
    "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
    "GET /CL.THROTTLE HTTP/1.0\r\n",
    "PUT / HTTP/1.1\r\n",
    "HEAD / HTTP/1.1\r\n",
    "OPTIONS * HTTP/1.1\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
];

const IGNORED: [&str; 9] = [
    "\r\n",
    "\n",
    "  \t \r\n",
    "\r\n\n\r\n",
    "*0\r\n",
    "*-1\r\n",
    "*-2\r\n",
    "*-2147483648\r\n",
    "*0\r\n\r\n*-1\r\n\n*0\r\n",
];

const UNUSUAL: [(&[u8], &[u8]); 19] = [
    (b"PING\n", b"+PONG\r\n"),
    (b"ping\r\n", b"+PONG\r\n"),
    (b" \tPING \t\r\n", b"+PONG\r\n"),
    (b"PING\rPING\n", b"$4\r\nPING\r\n"),
    (b"*1\r\n$4\r\npInG\r\n", b"+PONG\r\n"),
    (b"ECHO \"a b\"\r\n", b"$3\r\na b\r\n"),
    (b"ECHO 'a b'\r\n", b"$3\r\na b\r\n"),
    (b"ECHO \"\"\r\n", b"$0\r\n\r\n"),
    (b"ECHO ''\r\n", b"$0\r\n\r\n"),
    (b"ECHO \"\\x41\\x0d\\x0A\"\r\n", b"$3\r\nA\r\n\r\n"),
    (b"ECHO \"\\n\\r\\t\\a\\b\\q\\\\\\\"\"\r\n", b"$8\r\n\n\r\t\x07\x08q\\\"\r\n"),
    (b"ECHO \"\\xzz\\x4\"\r\n", b"$5\r\nxzzx4\r\n"),
    (b"ECHO '\\'\\n'\r\n", b"$3\r\n'\\n\r\n"),
    (b"ECHO a\0\xffb\r\n", b"$4\r\na\0\xffb\r\n"),
    (b"*2\r\n$4\r\nECHO\r\n$4\r\n\r\n\0\xff\r\n", b"$4\r\n\r\n\0\xff\r\n"),
    (b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", b"$0\r\n\r\n"),
    (b"+PING\r\n", b"-ERR unknown command '+PING', with args beginning with: \r\n"),
    (b"Host:a\r\n", b"-ERR unknown command 'Host:a', with args beginning with: \r\n"),
    (b"POSTS\r\n", b"-ERR unknown command 'POSTS', with args beginning with: \r\n"),
];

/// Sizes at a limit, and one beyond it.
fn sizes() -> Vec<Case> {
    let arg = |bytes: usize| "x".repeat(bytes);
    let echoed = |bytes: usize| format!("${bytes}\r\n{}\r\n", arg(bytes));
    let line = |bytes: usize| format!("PING{}\r\n", " ".repeat(bytes - 6));
    let wrong_ping = "-ERR wrong number of arguments for 'ping' command\r\n";
    let (too_big, too_long) = (protocol_error("too big command"), "too big inline request");
    // Including the length prefixes this is 65,536 bytes.
    let mut longest = vec![arg(4090); 16];
    longest[0] = "PING".into();
    let rest = (1 << 16) - array(&longest).len() - "$1000\r\n\r\n".len();
    longest.push(arg(rest));
    let mut beyond = longest.clone();
    beyond.last_mut().unwrap().push('x');
    vec![
        Case::stays(array(&["ECHO", &arg(4096)]), echoed(4096)),
        Case::closes(array(&["ECHO", &arg(4097)]), protocol_error("invalid bulk length")),
        Case::stays(format!("ECHO {}\r\n", arg(4096)), echoed(4096)),
        Case::closes(format!("ECHO {}\r\n", arg(4097)), too_big.clone()),
        Case::stays(array(&["PING"; 64]), wrong_ping),
        Case::closes(array(&["PING"; 65]), protocol_error("invalid multibulk length")),
        Case::stays(["PING"; 64].join(" ") + "\r\n", wrong_ping),
        Case::closes(["PING"; 65].join(" ") + "\r\n", too_big.clone()),
        Case::stays(array(&longest), wrong_ping),
        Case::closes(array(&beyond), too_big),
        Case::stays(line(1 << 16), "+PONG\r\n"),
        Case::closes(line((1 << 16) + 1), protocol_error(too_long)),
        Case::closes(arg(70_000), protocol_error(too_long)),
        Case::closes(" ".repeat(70_000), protocol_error(too_long)),
    ]
}

fn protocol_error(text: &str) -> String {
    format!("-ERR Protocol error: {text}\r\n")
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = sizes();
    let bad_array = protocol_error("invalid multibulk length");
    let bad_bulk = protocol_error("invalid bulk length");
    cases.extend(INVALID_ARRAY_LENGTHS.map(|sent| Case::closes(sent, bad_array.as_str())));
    cases.extend(
        INVALID_BULK_LENGTHS.map(|bulk| Case::closes(format!("*1\r\n{bulk}"), bad_bulk.as_str())),
    );
    cases.extend(PROTOCOL_ERRORS.map(|(sent, text)| Case::closes(sent, protocol_error(text))));
    cases.extend(HTTP.map(|sent| Case::closes(sent, "")));
    cases.extend(IGNORED.map(|sent| Case::stays(sent, "")));
    cases.extend(UNUSUAL.map(|(sent, reply)| Case::stays(sent, reply)));
    // The command before the error gets a reply, the one after it does not.
    cases.push(Case::closes("PING\r\nPOST / HTTP/1.1\r\nPING\r\n", "+PONG\r\n"));
    cases.push(Case::closes("PING\r\n*x\r\nPING\r\n", format!("+PONG\r\n{bad_array}")));
    cases
}
