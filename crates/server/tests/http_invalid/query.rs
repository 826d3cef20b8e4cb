//! Invalid and unusual queries of `/check`, which proxies send.

use crate::case::{Case, FRESH_FIELDS, Reply};
use crate::support::http::get;

/// The headers for a key of which two units were taken.
const TWO_TAKEN: &str = "cache-control: no-store\r\nratelimit: \"default\";r=3;t=2\r\n\
                         ratelimit-policy: \"default\";q=1;w=1;tollgate-burst=5\r\n";

const COST: &str = "expected a whole number";

/// Sent after `/check?`, with the error.
const INVALID: [(&str, &str); 34] = [
    ("", "missing key: a limit counts the nameless key"),
    ("key", "key is empty; expected 1 to 1024 bytes"),
    ("key=", "key is empty; expected 1 to 1024 bytes"),
    ("key=&key=k", "key is empty; expected 1 to 1024 bytes"),
    ("KEY=k", "missing key: a limit counts the nameless key"),
    ("key%3dk", "missing key: a limit counts the nameless key"),
    ("key.ip=k", "missing key: a limit counts the nameless key"),
    ("key=k&key.=k", "the name of a key '' has 0 bytes; expected 1 to 64"),
    ("key=k&key.%ff=k", "the name of a key is not UTF-8"),
    ("key=k&key.ip=", "ip: key is empty; expected 1 to 1024 bytes"),
    ("end&key=k", "missing key: a limit counts the nameless key"),
    ("key=k&cost=", "cost '': "),
    ("key=k&cost", "cost '': "),
    ("key=k&cost=x", "cost 'x': "),
    ("key=k&cost=-1", "cost '-1': "),
    ("key=k&cost=%2b1", "cost '+1': "),
    ("key=k&cost=+1", "cost ' 1': "),
    ("key=k&cost=1.0", "cost '1.0': "),
    ("key=k&cost=%ff", "cost '\u{fffd}': "),
    ("key=k&cost=18446744073709551616", "cost '18446744073709551616': "),
    ("key=k&cost.tokens=x", "cost.tokens 'x': "),
    ("key=k&cost.tokens=-1", "cost.tokens '-1': "),
    ("key=k&cost.tokens=4294967296", "cost.tokens 4294967296: expected at most 4294967295"),
    ("key=k&cost.tokens=1", "cost of \"tokens\": no limit of the policy has this unit (of UNIT)"),
    ("key=k&cost.=1", "the unit of a cost '' has 0 bytes; expected 1 to 64"),
    ("key=k&cost.%ff=1", "the unit of a cost is not UTF-8"),
    ("key=k&peek=2", "peek: expected 0 or 1"),
    ("key=k&peek=true", "peek: expected 0 or 1"),
    ("key=k&deny_status=200", "deny_status: expected 401, 403 or 429"),
    ("key=k&deny_status=500", "deny_status: expected 401, 403 or 429"),
    ("key=k&deny_status=65965", "deny_status: expected 401, 403 or 429"),
    ("policy=login&key=k", "missing key \"ip\": a limit counts per ip"),
    ("policy=login&key.ip=1", "missing key \"user\": a limit counts per user"),
    ("policy=login&key.ip=1&key.USER=2", "missing key \"user\": a limit counts per user"),
];

/// Sent after `/check?peek=1&`: unusual, but valid; the key is unused.
const UNUSUAL: [&str; 22] = [
    "key=k",
    "&&key=k&&",
    "=&key=k&=x",
    "key=k&unknown=1&cost_=x&Cost=x",
    "k%65y=%6b",
    "key=%",
    "key=%4",
    "key=%zz",
    "key=a=b",
    "key=%26%3d%23",
    "key=a?b",
    "key=%00",
    "key=%ff",
    "key=k&cost=0",
    "key=k&cost=00001",
    "key=k&key=&cost=1&cost=x",
    "key=k&policy=default&policy=nope",
    "key=k&peek=0&deny_status=401",
    // `id` is ignored here: a client that controls it could replay an allowed response.
    "key=k&id=",
    // So is a factor, with which it could switch its limits off.
    "key=k&factor=0",
    "key=k&factor=x",
    // What the client's own query adds comes after `end`, and is ignored.
    "key=k&end&cost=x&deny_status=1&policy=nope&key.=&peek=0",
];

/// Names of policies in the query, and in the error message.
const UNKNOWN: [(&str, &str); 5] = [
    ("", ""),
    ("nope", "nope"),
    ("default%20", "default "),
    ("default+", "default "),
    ("%ff%0d%0a", "\u{fffd}\r\n"),
];

/// Takes two units of a key; only the same bytes are the same key.
fn distinct_keys() -> Vec<Case> {
    let take = |key: &str| Case::stays(get(&format!("/check?cost=2&key={key}")), two());
    let same = |key: &str| Case::stays(get(&format!("/check?peek=1&key={key}")), two());
    let other = |key: &str| {
        Case::stays(get(&format!("/check?peek=1&key={key}")), Reply::allowed(FRESH_FIELDS))
    };
    vec![
        take("%ff%20x"),
        same("%FF+x"),
        same("%FF%20%78"),
        same("%FF%20x&key=other"),
        other("%fe%20x"),
        other("%ef%bf%bd%20x"),
        other("%ff%2bx"),
        other("%ff%2520x"),
        other("%ff%20X"),
        other("%ff%20x%00"),
        // An invalid escape is taken literally.
        take("%5"),
        same("%255"),
        other("%05"),
    ]
}

fn two() -> Reply {
    Reply::allowed(TWO_TAKEN)
}

/// So many parameters that some are ignored.
fn many() -> Vec<Case> {
    let after = |count: usize| {
        let others: String = (0..count).map(|number| format!("x{number}&")).collect();
        get(&format!("/check?{others}key=k&peek=1"))
    };
    vec![
        Case::stays(after(62), Reply::allowed(FRESH_FIELDS)),
        Case::rejected(after(64), 422, "missing key: a limit counts the nameless key"),
    ]
}

/// Sizes at a limit, and one beyond it.
fn sizes() -> Vec<Case> {
    let key = |bytes: usize| get(&format!("/check?peek=1&key={}", "%6b".repeat(bytes)));
    let cost = |cost: &str| get(&format!("/check?peek=1&key=k&cost={cost}"));
    let too_much = "cost 4294967296: expected at most 4294967295";
    vec![
        Case::stays(key(1_024), Reply::allowed(FRESH_FIELDS)),
        Case::rejected(key(1_025), 422, "key has 1025 bytes; expected 1 to 1024"),
        Case::rejected(cost("4294967296"), 422, too_much),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<_> = INVALID
        .map(|(query, why)| {
            let more = if why.ends_with(": ") { COST } else { "" };
            Case::rejected(get(&format!("/check?{query}")), 422, &format!("{why}{more}"))
        })
        .into();
    cases.push(Case::rejected(get("/check"), 422, "missing key: a limit counts the nameless key"));
    cases.extend(UNUSUAL.map(|rest| {
        Case::stays(get(&format!("/check?peek=1&{rest}")), Reply::allowed(FRESH_FIELDS))
    }));
    cases.extend(UNKNOWN.map(|(name, quoted)| {
        let why = format!("unknown policy '{quoted}': expected one of db, default, login");
        Case::rejected(get(&format!("/check?key=k&policy={name}")), 404, &why)
    }));
    cases.extend(distinct_keys());
    cases.extend(many());
    cases.extend(sizes());
    cases
}
