//! `MULTI` and `EXEC` in the wrong place, and transactions with invalid commands.

use crate::case::Case;

const UNKNOWN: &str = "-ERR unknown command 'NOPE', with args beginning with: \r\n";
const NESTED: &str = "-ERR MULTI calls can not be nested\r\n";
const NO_MULTI: &str = "-ERR EXEC without MULTI\r\n";
const ABORTED: &str = "-EXECABORT Transaction discarded because of previous errors.\r\n";
const ARITY: &str = "-ERR wrong number of arguments for 'exec' command\r\n";
const ARITY_DISCARD: &str = "-ERR wrong number of arguments for 'discard' command\r\n";
const ARITY_THROTTLE: &str = "-ERR wrong number of arguments for 'cl.throttle' command\r\n";
const NO_REPLY_MODE: &str = "-ERR CLIENT REPLY is not allowed in transactions\r\n";
const OK: &str = "+OK\r\n";
const QUEUED: &str = "+QUEUED\r\n";

/// Lines, and the reply to each of them.
const CASES: [(&str, &[&str]); 22] = [
    ("EXEC", &[NO_MULTI]),
    ("DISCARD", &["-ERR DISCARD without MULTI\r\n"]),
    ("MULTI a", &["-ERR wrong number of arguments for 'multi' command\r\n"]),
    ("EXEC a", &["-ERR wrong number of arguments for 'exec' command\r\n"]),
    ("DISCARD a", &["-ERR wrong number of arguments for 'discard' command\r\n"]),
    ("MULTI\r\nEXEC\r\nEXEC", &[OK, "*0\r\n", NO_MULTI]),
    ("MULTI\r\nMULTI\r\nPING\r\nEXEC", &[OK, NESTED, QUEUED, "*1\r\n+PONG\r\n"]),
    ("MULTI\r\n\r\n*0\r\nPING\r\nEXEC", &[OK, QUEUED, "*1\r\n+PONG\r\n"]),
    ("MULTI\r\nPING\r\nDISCARD\r\nEXEC", &[OK, QUEUED, OK, NO_MULTI]),
    ("MULTI\r\nNOPE\r\nPING\r\nEXEC\r\nPING", &[OK, UNKNOWN, QUEUED, ABORTED, "+PONG\r\n"]),
    ("MULTI\r\nNOPE\r\nDISCARD\r\nEXEC", &[OK, UNKNOWN, OK, NO_MULTI]),
    ("MULTI\r\nNOPE\r\nMULTI\r\nEXEC", &[OK, UNKNOWN, NESTED, ABORTED]),
    ("MULTI\r\nPING\r\nRESET\r\nEXEC", &[OK, QUEUED, "+RESET\r\n", NO_MULTI]),
    (
        "MULTI\r\nECHO a\r\nSELECT 7\r\nECHO b\r\nEXEC",
        &[
            OK,
            QUEUED,
            QUEUED,
            QUEUED,
            "*3\r\n$1\r\na\r\n-ERR DB index is out of range\r\n$1\r\nb\r\n",
        ],
    ),
    ("MULTI\r\nPING\r\nEXEC\r\nMULTI\r\nEXEC", &[OK, QUEUED, "*1\r\n+PONG\r\n", OK, "*0\r\n"]),
    (
        "MULTI\r\nTG.CHECK api t\r\nTG.CHECK nope t\r\nCL.THROTTLE t 0 1 1\r\nEXEC",
        &[
            OK,
            QUEUED,
            QUEUED,
            QUEUED,
            "*3\r\n*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:1000\r\n",
            "-ERR unknown policy 'nope': expected one of api, db, login\r\n",
            "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:1\r\n",
        ],
    ),
    ("MULTI\r\nPING\r\nEXEC a\r\nEXEC", &[OK, QUEUED, ARITY, ABORTED]),
    ("MULTI\r\nPING\r\nDISCARD a\r\nEXEC", &[OK, QUEUED, ARITY_DISCARD, ABORTED]),
    (
        "MULTI\r\nTG.CHECK api t2\r\nCL.THROTTLE t2\r\nEXEC\r\nTG.PEEK api t2",
        &[OK, QUEUED, ARITY_THROTTLE, ABORTED, "*5\r\n:1\r\n:5\r\n:5\r\n:0\r\n:0\r\n"],
    ),
    ("MULTI\r\nCLIENT REPLY OFF\r\nPING\r\nEXEC", &[OK, NO_REPLY_MODE, QUEUED, ABORTED]),
    ("CLIENT REPLY SKIP\r\nMULTI\r\nPING\r\nEXEC", &[QUEUED, "*1\r\n+PONG\r\n"]),
    ("CLIENT REPLY OFF\r\nMULTI\r\nPING\r\nEXEC\r\nCLIENT REPLY ON", &[OK]),
];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<_> = CASES
        .iter()
        .map(|(lines, replies)| Case::stays(format!("{lines}\r\n"), replies.concat()))
        .collect();
    cases.extend([
        Case::closes("MULTI\r\nPING\r\nQUIT\r\nEXEC\r\n", [OK, QUEUED, OK].concat()),
        Case::closes("MULTI\r\nPOST / HTTP/1.1\r\nEXEC\r\n", OK),
        Case::closes(
            "MULTI\r\n*x\r\nEXEC\r\n",
            [OK, "-ERR Protocol error: invalid multibulk length\r\n"].concat(),
        ),
    ]);
    cases
}
