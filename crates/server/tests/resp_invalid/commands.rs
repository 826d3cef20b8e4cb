//! Unknown and invalid commands, other than those that return a decision.

use crate::case::Case;
use crate::support::array;

/// Commands, with the name in the error message.
const WRONG_ARITY: [(&str, &str); 22] = [
    ("PING a b", "ping"),
    ("ECHO", "echo"),
    ("ECHO a b", "echo"),
    ("SELECT", "select"),
    ("SELECT 0 1", "select"),
    ("RESET a", "reset"),
    ("AUTH", "auth"),
    ("AUTH a b c", "auth"),
    ("CLUSTER", "cluster"),
    ("CLIENT", "client"),
    ("CLIENT SETNAME", "client|setname"),
    ("CLIENT SETNAME a b", "client|setname"),
    ("CLIENT GETNAME a", "client|getname"),
    ("CLIENT ID a", "client|id"),
    ("CLIENT NO-EVICT", "client|no-evict"),
    ("CLIENT NO-TOUCH", "client|no-touch"),
    ("CLIENT REPLY", "client|reply"),
    ("CLIENT TRACKING", "client|tracking"),
    ("CLIENT SETINFO LIB-NAME", "client|setinfo"),
    ("CONFIG", "config"),
    ("CONFIG GET", "config|get"),
    ("COMMAND COUNT a", "command|count"),
];

const ERRORS: [(&str, &str); 45] = [
    ("FOO", "ERR unknown command 'FOO', with args beginning with: "),
    ("FOO a b", "ERR unknown command 'FOO', with args beginning with: 'a' 'b' "),
    ("FOO \"a\\r\\nb\"", "ERR unknown command 'FOO', with args beginning with: 'a  b' "),
    ("\"F\\r\\n-OK\"", "ERR unknown command 'F  -OK', with args beginning with: "),
    ("\"\"", "ERR unknown command '', with args beginning with: "),
    ("FOO \"\"", "ERR unknown command 'FOO', with args beginning with: '' "),
    ("GET /", "ERR unknown command 'GET', with args beginning with: '/' "),
    ("SET a b", "ERR unknown command 'SET', with args beginning with: 'a' 'b' "),
    ("EVAL 'return 1' 0", "ERR unknown command 'EVAL', with args beginning with: 'return 1' '0' "),
    ("DEBUG SEGFAULT", "ERR unknown command 'DEBUG', with args beginning with: 'SEGFAULT' "),
    ("SHUTDOWN", "ERR unknown command 'SHUTDOWN', with args beginning with: "),
    ("WATCH a", "ERR unknown command 'WATCH', with args beginning with: 'a' "),
    ("TG.", "ERR unknown command 'TG.', with args beginning with: "),
    ("TG.NOPE api k", "ERR unknown command 'TG.NOPE', with args beginning with: 'api' 'k' "),
    ("CL.THROTTL k", "ERR unknown command 'CL.THROTTL', with args beginning with: 'k' "),
    ("HELLO 4", "NOPROTO unsupported protocol version"),
    ("HELLO 1", "NOPROTO unsupported protocol version"),
    ("HELLO 0", "NOPROTO unsupported protocol version"),
    ("HELLO -1", "NOPROTO unsupported protocol version"),
    ("HELLO abc", "ERR Protocol version is not an integer or out of range"),
    ("HELLO \"\"", "ERR Protocol version is not an integer or out of range"),
    ("HELLO SETNAME a", "ERR Protocol version is not an integer or out of range"),
    ("HELLO 3 AUTH", "ERR Syntax error in HELLO option 'AUTH'"),
    ("HELLO 3 AUTH default", "ERR Syntax error in HELLO option 'AUTH'"),
    ("HELLO 3 SETNAME", "ERR Syntax error in HELLO option 'SETNAME'"),
    ("HELLO 3 NOPE a", "ERR Syntax error in HELLO option 'NOPE'"),
    ("HELLO 3 \"A\\r\\nB\"", "ERR Syntax error in HELLO option 'A  B'"),
    ("SELECT 1", "ERR DB index is out of range"),
    ("SELECT -1", "ERR DB index is out of range"),
    ("SELECT abc", "ERR value is not an integer or out of range"),
    ("SELECT \"\"", "ERR value is not an integer or out of range"),
    ("SELECT 99999999999999999999", "ERR value is not an integer or out of range"),
    ("CLIENT NO-EVICT maybe", "ERR syntax error"),
    ("CLIENT REPLY maybe", "ERR syntax error"),
    ("CLIENT TRACKING maybe", "ERR syntax error"),
    ("CLIENT NOPE", "ERR unknown subcommand 'NOPE'. Try CLIENT HELP."),
    ("CLIENT \"A\\r\\nB\"", "ERR unknown subcommand 'A  B'. Try CLIENT HELP."),
    ("CONFIG NOPE", "ERR unknown subcommand 'NOPE'. Try CONFIG HELP."),
    ("COMMAND NOPE", "ERR unknown subcommand 'NOPE'. Try COMMAND HELP."),
    ("COMMAND \"\"", "ERR unknown subcommand ''. Try COMMAND HELP."),
    ("COMMAND GETKEYS PING", "ERR Invalid command specified, or it has no keys"),
    ("HELLO 3 AUTH nobody a", WRONG_PASSWORD),
    ("AUTH nobody a", WRONG_PASSWORD),
    (
        "AUTH a",
        "ERR AUTH <password> called without any password configured for the default user. Are you \
         sure your configuration is correct?",
    ),
    ("CLUSTER INFO", "ERR This instance has cluster support disabled"),
];

const WRONG_PASSWORD: &str = "WRONGPASS invalid username-password pair or user is disabled.";
const BAD_NAME: &str = "ERR Client names cannot contain spaces, newlines or special characters.";
const BAD_NAMES: [&str; 4] = [
    "CLIENT SETNAME \"a b\"",
    "CLIENT SETNAME \"a\\nb\"",
    "CLIENT SETNAME ä",
    "HELLO 3 SETNAME \"a b\"",
];

const REPLIES: [(&str, &str); 25] = [
    ("SELECT 0", "+OK\r\n"),
    ("AUTH default a", "+OK\r\n"),
    ("CLIENT MAINT_NOTIFICATIONS ON", MAINT),
    ("CLIENT SETINFO LIB-NAME a", "+OK\r\n"),
    ("CLIENT NO-EVICT on", "+OK\r\n"),
    ("CLIENT NO-TOUCH off", "+OK\r\n"),
    ("CLIENT TRACKING OFF", "+OK\r\n"),
    ("CLIENT GETNAME", "$-1\r\n"),
    ("CLIENT SETNAME a\r\nCLIENT GETNAME", "+OK\r\n$1\r\na\r\n"),
    ("CLIENT SETNAME a\r\nCLIENT SETNAME \"\"\r\nCLIENT GETNAME", "+OK\r\n+OK\r\n$-1\r\n"),
    ("CLIENT SETNAME a\r\nRESET\r\nCLIENT GETNAME", "+OK\r\n+RESET\r\n$-1\r\n"),
    ("CLIENT REPLY ON", "+OK\r\n"),
    ("CLIENT REPLY SKIP\r\nECHO a\r\nECHO b", "$1\r\nb\r\n"),
    ("CLIENT REPLY SKIP\r\nCLIENT REPLY SKIP\r\nECHO a\r\nECHO b", "$1\r\nb\r\n"),
    ("CLIENT REPLY SKIP\r\nNOPE\r\nECHO b", "$1\r\nb\r\n"),
    ("CLIENT REPLY OFF\r\nECHO a\r\nNOPE\r\nCLIENT REPLY ON\r\nECHO b", "+OK\r\n$1\r\nb\r\n"),
    ("CLIENT REPLY OFF\r\nECHO a\r\nRESET", "+RESET\r\n"),
    ("CONFIG HELP", "*2\r\n+GET\r\n+HELP\r\n"),
    ("CONFIG GET save", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"),
    ("CONFIG GET nope", "*0\r\n"),
    ("COMMAND INFO nope", "*1\r\n*-1\r\n"),
    ("COMMAND DOCS nope", "*0\r\n"),
    ("COMMAND GETKEYS cl.throttle a 1 1 1", "*1\r\n$1\r\na\r\n"),
    ("INFO nope", "$0\r\n\r\n"),
    ("INFO persistence", "$26\r\n# Persistence\r\nloading:0\r\n\r\n"),
];
const MAINT: &str = "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.\r\n";

/// The part of the reply to `HELLO` before the protocol version.
const HELLO: &str =
    "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n";
const HELLO_REST: &str = "$2\r\nid\r\n:{id}\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n\
                          $6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n";

fn hellos() -> Vec<Case> {
    let [two, three] = [("*14", 2), ("%7", 3)]
        .map(|(head, number)| format!("{head}\r\n{HELLO}:{number}\r\n{HELLO_REST}"));
    let case = |line: &str, reply: String| Case::stays(format!("{line}\r\n"), reply);
    let refused = "-NOPROTO unsupported protocol version\r\n";
    vec![
        case("HELLO", two.clone()),
        case("HELLO 2", two),
        case("hello 3", three.clone()),
        case("HELLO 3 AUTH default secret", three.clone()),
        case("HELLO 3 SETNAME a\r\nCLIENT GETNAME", format!("{three}$1\r\na\r\n")),
        // A rejected HELLO does not change the protocol version.
        case("HELLO 3\r\nHELLO 4\r\nCONFIG GET nope", format!("{three}{refused}%0\r\n")),
        case("HELLO 4\r\nCONFIG GET nope", format!("{refused}*0\r\n")),
        case("HELLO 3\r\nRESET\r\nCONFIG GET nope", format!("{three}+RESET\r\n*0\r\n")),
        case("HELLO 3\r\nCLIENT GETNAME\r\nCOMMAND INFO nope", format!("{three}_\r\n*1\r\n_\r\n")),
    ]
}

/// Unknown commands with long, many, or binary arguments.
fn unknown() -> Vec<Case> {
    let error = |name: &str, args: &str| {
        format!("-ERR unknown command '{name}', with args beginning with: {args}\r\n")
    };
    let mut many = ["a"; 64];
    many[0] = "FOO";
    let (long, truncated) = ("x".repeat(4096), "x".repeat(128));
    let bytes = b"-ERR unknown command 'FOO', with args beginning with: ' \xff''' \r\n";
    vec![
        Case::stays(array(&[&long]), error(&truncated, "")),
        Case::stays(array(&["FOO", &long]), error("FOO", &format!("'{truncated}' "))),
        Case::stays(array(&["FOO", &long, &long]), error("FOO", &format!("'{truncated}' "))),
        Case::stays(array(&many), error("FOO", &"'a' ".repeat(63))),
        Case::stays(array(&[b"FOO".as_slice(), b"\0\xff''"]), bytes.as_slice()),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<_> = ERRORS.iter().map(Case::error).collect();
    cases.extend(WRONG_ARITY.map(|(line, name)| {
        Case::error(&(line, &format!("ERR wrong number of arguments for '{name}' command")))
    }));
    cases.extend(BAD_NAMES.map(|line| Case::error(&(line, BAD_NAME))));
    cases.extend(REPLIES.map(|(line, reply)| Case::stays(format!("{line}\r\n"), reply)));
    cases.extend(hellos());
    cases.extend(unknown());
    for quit in ["QUIT\r\n", "QUIT now\r\n", "quit\r\nPING\r\n", "QUIT\r\n*x\r\n"] {
        cases.push(Case::closes(quit, "+OK\r\n"));
    }
    cases
}
