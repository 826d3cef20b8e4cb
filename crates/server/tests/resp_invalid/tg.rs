//! Invalid and unusual `TG.` commands.

use crate::case::Case;
use crate::support::array;

/// Sent after `TG.CHECK api k`: invalid costs.
const INVALID_COSTS: [&str; 9] =
    ["x", "-1", "1.5", "1e3", "\"\"", "\" 1\"", "4294967296", "18446744073709551616", "0x1"];

/// Sent after `TG.CHECK api k`: invalid factors.
const INVALID_FACTORS: [&str; 10] =
    ["x", "-1", "1e3", "nan", "inf", "\"\"", ".5", "5.", "0.1234567891", "99999999999999999999"];

/// Sent after `TG.CHECK`: wrong arguments.
const WRONG_USAGE: [&str; 9] = [
    "",
    " api",
    " api k COST",
    " api k FACTOR",
    " api k ID",
    " api k NOPE",
    " api k NOPE 1",
    " api k l",
    " api COST 1",
];

const ERRORS: [(&str, &str); 31] = [
    (
        "TG.PEEK api",
        "ERR usage: TG.PEEK policy key [COST n] [COST unit=n ...] [FACTOR f] [ID id] [VERBOSE]",
    ),
    (
        "TG.REFUND api",
        "ERR usage: TG.REFUND policy key [COST n] [COST unit=n ...] [FACTOR f] [ID id] [VERBOSE]",
    ),
    (
        "TG.CHARGE api",
        "ERR usage: TG.CHARGE policy key [COST n] [COST unit=n ...] [FACTOR f] [ID id] [VERBOSE]",
    ),
    (
        "TG.RESET api",
        "ERR usage: TG.RESET policy key [COST n] [COST unit=n ...] [FACTOR f] [ID id] [VERBOSE]",
    ),
    (
        "TG.RESERVE api",
        "ERR usage: TG.RESERVE policy key [COST n] [COST unit=n ...] [FACTOR f] ID id [VERBOSE]",
    ),
    (
        "TG.SETTLE api",
        "ERR usage: TG.SETTLE policy key [COST n] [COST unit=n ...] [FACTOR f] ID id [VERBOSE]",
    ),
    (
        "TG.RELEASE api",
        "ERR usage: TG.RELEASE policy key [COST n] [COST unit=n ...] [FACTOR f] ID id [VERBOSE]",
    ),
    (
        "TG.RENEW api",
        "ERR usage: TG.RENEW policy key [COST n] [COST unit=n ...] [FACTOR f] ID id [VERBOSE]",
    ),
    ("TG.RESERVE api k COST 2", "ERR TG.RESERVE requires an ID"),
    ("TG.SETTLE api k COST 2", "ERR TG.SETTLE requires an ID"),
    ("TG.RELEASE db k", "ERR TG.RELEASE requires an ID"),
    ("TG.RENEW db k", "ERR TG.RENEW requires an ID"),
    ("TG.RENEW api k ID x", "ERR renew: the policy has no concurrency limit, which gives leases"),
    ("TG.CHECK nope k", "ERR unknown policy 'nope': expected one of api, db, login"),
    ("TG.CHECK API k", "ERR unknown policy 'API': expected one of api, db, login"),
    ("TG.CHECK \"\" k", "ERR unknown policy '': expected one of api, db, login"),
    ("TG.CHECK \"a\\r\\nb\" k", "ERR unknown policy 'a  b': expected one of api, db, login"),
    ("TG.CHECK api \"\"", "ERR key is empty; expected 1 to 1024 bytes"),
    ("TG.CHECK api k ID \"\"", "ERR id is empty; expected 1 to 64 bytes"),
    ("TG.CHECK api k COST =1", "ERR COST '=1': expected a unit of 1 to 64 bytes before '='"),
    ("TG.CHECK api k COST =", "ERR COST '=': expected a unit of 1 to 64 bytes before '='"),
    (
        "TG.CHECK api k COST \"\\xff=1\"",
        "ERR COST '\u{fffd}=1': expected a unit of 1 to 64 bytes before '='",
    ),
    (
        "TG.CHECK api k COST tokens=",
        "ERR COST 'tokens=': expected a whole number from 0 to 4294967295",
    ),
    (
        "TG.CHECK api k COST tokens=-1",
        "ERR COST 'tokens=-1': expected a whole number from 0 to 4294967295",
    ),
    (
        "TG.CHECK api k COST tokens=4294967296",
        "ERR COST 'tokens=4294967296': expected a whole number from 0 to 4294967295",
    ),
    (
        "TG.CHECK api k COST tokens=1",
        "ERR cost of \"tokens\": no limit of the policy has this unit (of UNIT)",
    ),
    ("TG.CHECK api k COST a=1 COST 1 COST a=1", "ERR the cost of \"a\" is given twice"),
    ("TG.CHECK api k COST a=1 COST 1 COST 1", "ERR duplicate option COST"),
    ("TG.CHECK api k VERBOSE verbose", "ERR duplicate option VERBOSE"),
    (
        "TG.CHECK api k FACTOR 1000001",
        "ERR limit \"gcra 1/s burst 5\": factor \"1000001\" is not accepted; expected a decimal \
         from 0 to 1000000 that keeps the limit within its bounds",
    ),
    (
        "TG.CHARGE api k COST 4294967295",
        "ERR the debt would be too large: it may take at most 2^51 µs (71 years) to drain",
    ),
];

/// Sent after `TG.CHECK login`, which counts per ip and per user.
const NAMED: [(&str, &str); 14] = [
    ("k", "unknown key 'k': expected ip=…, user=…"),
    ("k ip=1 user=2", "unknown key 'k': expected ip=…, user=…"),
    ("IP=1 user=2", "unknown key 'IP=1': expected ip=…, user=…"),
    ("\"ip=1 user=2 ip=3\"", "duplicate key 'ip='"),
    (
        "ip=1 COST 1 user=2",
        "usage: TG.CHECK policy key [COST n] [COST unit=n ...] [FACTOR f] [ID id] [VERBOSE]",
    ),
    ("ip=1 user=2 COST 1 COST 1", "duplicate option COST"),
    ("ip=1", "missing key \"user\": a limit counts per user"),
    ("user=1", "missing key \"ip\": a limit counts per ip"),
    ("ip=1 ip=2 user=3", "duplicate key 'ip='"),
    ("ip=1 user=2 user=2", "duplicate key 'user='"),
    ("ip=1 user=2 host=3", "unknown key 'host=3': expected ip=…, user=…"),
    ("ip=1 user=2 3", "unknown key '3': expected ip=…, user=…"),
    ("ip= user=2", "ip: key is empty; expected 1 to 1024 bytes"),
    ("ip=1 user=2 COST x", "COST 'x': expected a whole number from 0 to 4294967295"),
];

const UNUSUAL: [(&str, [i64; 5]); 15] = [
    ("tg.check api a cost 2", [1, 5, 3, 0, 2_000]),
    ("TG.CHECK api a COST 6", [0, 5, 3, -1, 2_000]),
    ("TG.CHECK api a COST 4294967295", [0, 5, 3, -1, 2_000]),
    ("TG.CHECK api a COST 0 FACTOR 0", [1, -1, -1, 0, 0]),
    ("TG.CHECK api a ID x", [1, 5, 2, 0, 3_000]),
    ("TG.CHECK api a ID x", [1, 5, 2, 0, 3_000]),
    ("TG.PEEK api COST", [1, 5, 5, 0, 0]),
    ("TG.PEEK api ip=1", [1, 5, 5, 0, 0]),
    ("TG.SETTLE api a COST 1 ID nobody", [0, 5, 2, 0, 3_000]),
    ("TG.RENEW db a ID nobody", [0, 5, 5, 0, 0]),
    ("TG.RELEASE db a ID nobody", [0, 5, 5, 0, 0]),
    ("TG.PEEK login user=2 ip=a=b", [1, 3, 3, 0, 0]),
    ("TG.PEEK login \"ip=1 user=a b\"", [1, 3, 3, 0, 0]),
    // A client that controls its user name must not control its address with it.
    ("TG.PEEK login ip=1 \"user=a b\"", [1, 3, 3, 0, 0]),
    ("TG.PEEK login ip=1 \"user=a ip=2\"", [1, 3, 3, 0, 0]),
];

fn sizes() -> Vec<Case> {
    let (key, id) = ([b'k'; 1025], [b'i'; 65]);
    let of_key = |key: &[u8]| array(&[b"TG.CHECK", b"api".as_slice(), key]);
    let of_ip = |key: &[u8]| {
        let ip = [b"ip=", key].concat();
        array(&[b"TG.CHECK", b"login".as_slice(), &ip, b"user=1"])
    };
    let of_id = |key: &[u8], id: &[u8]| array(&[b"TG.CHECK", b"api".as_slice(), key, b"ID", id]);
    let fits = "*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:1000\r\n";
    let both_fit = "*5\r\n:1\r\n:3\r\n:2\r\n:0\r\n:3600000\r\n";
    vec![
        Case::stays(of_key(&key[..1024]), fits),
        Case::stays(of_key(&key), "-ERR key has 1025 bytes; expected 1 to 1024\r\n"),
        Case::stays(of_ip(&key[..1024]), both_fit),
        Case::stays(of_ip(&key), "-ERR ip: key has 1025 bytes; expected 1 to 1024\r\n"),
        Case::stays(of_id(b"b", &id[..64]), fits),
        Case::stays(of_id(b"b", &id), "-ERR id has 65 bytes; expected 1 to 64\r\n"),
        Case::stays(of_id(b"\0\xff\r\n ", b"\0\xff\r\n "), fits),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let error =
        |line: String, message: String| Case::stays(line + "\r\n", format!("-ERR {message}\r\n"));
    let bare = |arg: &str| arg.trim_matches('"').to_owned();
    let mut cases: Vec<_> = ERRORS.iter().map(Case::error).collect();
    cases.extend(WRONG_USAGE.map(|rest| {
        let usage =
            "usage: TG.CHECK policy key [COST n] [COST unit=n ...] [FACTOR f] [ID id] [VERBOSE]";
        error(format!("TG.CHECK{rest}"), usage.to_owned())
    }));
    cases.extend(INVALID_COSTS.map(|cost| {
        let expected = "expected a whole number from 0 to 4294967295";
        error(format!("TG.CHECK api k COST {cost}"), format!("COST '{}': {expected}", bare(cost)))
    }));
    cases.extend(INVALID_FACTORS.map(|factor| {
        let expected = "expected a non-negative decimal with at most 9 decimal places, such as 0.5";
        let message = format!("FACTOR '{}': {expected}", bare(factor));
        error(format!("TG.CHECK api k FACTOR {factor}"), message)
    }));
    cases.extend(
        NAMED.map(|(keys, message)| error(format!("TG.CHECK login {keys}"), message.to_owned())),
    );
    cases.extend(UNUSUAL.iter().map(Case::numbers));
    cases.extend(sizes());
    cases
}
