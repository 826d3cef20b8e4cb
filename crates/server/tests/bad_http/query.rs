//! What proxies ask, with mistakes.

use crate::case::{Case, Reply};
use crate::support::http::get;

/// What is told of a key of the policy `default` that nobody has used.
const FRESH: &str = "cache-control: no-store\r\nratelimit: \"default\";r=5\r\n\
                     ratelimit-policy: \"default\";q=1;w=1;tollgate-burst=5\r\n";
/// What is told of one of which two were taken.
const TWO_TAKEN: &str = "cache-control: no-store\r\nratelimit: \"default\";r=3;t=2\r\n\
                         ratelimit-policy: \"default\";q=1;w=1;tollgate-burst=5\r\n";

const NO_COST: &str = "expected a whole number";
const NO_FACTOR: &str =
    "expected a non-negative decimal with at most 9 decimal places, such as 0.5";

/// After `/check?`, with `key=k` where none is said.
const UNFIT: [(&str, &str); 33] = [
    ("", "missing key: a limit counts the nameless key"),
    ("key", "key is empty; expected 1 to 1024 bytes"),
    ("key=", "key is empty; expected 1 to 1024 bytes"),
    ("key=&key=k", "key is empty; expected 1 to 1024 bytes"),
    ("KEY=k", "missing key: a limit counts the nameless key"),
    ("key%3dk", "missing key: a limit counts the nameless key"),
    ("key.ip=k", "missing key: a limit counts the nameless key"),
    ("key=k&key.=k", "key '' is given twice, or has no name"),
    ("key=k&key.%ff=k", "the name of a key is no text"),
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
    ("key=k&factor=", "factor '': "),
    ("key=k&factor=x", "factor 'x': "),
    ("key=k&factor=-1", "factor '-1': "),
    ("key=k&factor=1e3", "factor '1e3': "),
    ("key=k&factor=%ff", "factor '\u{fffd}': "),
    ("key=k&peek=2", "peek: expected 0 or 1"),
    ("key=k&peek=true", "peek: expected 0 or 1"),
    ("key=k&deny_status=200", "deny_status: expected 401, 403 or 429"),
    ("key=k&deny_status=500", "deny_status: expected 401, 403 or 429"),
    ("key=k&deny_status=65965", "deny_status: expected 401, 403 or 429"),
    ("policy=login&key=k", "missing key \"ip\": a limit counts per ip"),
    ("policy=login&key.ip=1", "missing key \"user\": a limit counts per user"),
    ("policy=login&key.ip=1&key.USER=2", "missing key \"user\": a limit counts per user"),
];

/// After `/check?peek=1&`: it means something, and the key is unused.
const ODD: [&str; 20] = [
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
    // Whoever could choose an id could be answered as the first time, again and again.
    "key=k&id=",
    // What clients have said comes after it.
    "key=k&end&cost=x&deny_status=1&policy=nope&key.=&peek=0",
];

/// Names of policies as they are written, and as they are told.
const UNKNOWN: [(&str, &str); 5] = [
    ("", ""),
    ("nope", "nope"),
    ("default%20", "default "),
    ("default+", "default "),
    ("%ff%0d%0a", "\u{fffd}\r\n"),
];

/// Two are taken of one key; only the same bytes find it again.
fn apart() -> Vec<Case> {
    let take = |key: &str| Case::stays(get(&format!("/check?cost=2&key={key}")), two());
    let same = |key: &str| Case::stays(get(&format!("/check?peek=1&key={key}")), two());
    let other =
        |key: &str| Case::stays(get(&format!("/check?peek=1&key={key}")), Reply::passes(FRESH));
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
        // As the first is not escaped well, it stays as it is.
        take("%5"),
        same("%255"),
        other("%05"),
    ]
}

fn two() -> Reply {
    Reply::passes(TWO_TAKEN)
}

/// So many parameters that some are passed over.
fn many() -> Vec<Case> {
    let after = |count: usize| {
        let others: String = (0..count).map(|number| format!("x{number}&")).collect();
        get(&format!("/check?{others}key=k&peek=1"))
    };
    vec![
        Case::stays(after(62), Reply::passes(FRESH)),
        Case::refused(after(64), 422, "missing key: a limit counts the nameless key"),
    ]
}

/// At a bound, and one beyond it.
fn sizes() -> Vec<Case> {
    let key = |bytes: usize| get(&format!("/check?peek=1&key={}", "%6b".repeat(bytes)));
    let cost = |cost: &str| get(&format!("/check?peek=1&key=k&cost={cost}"));
    let too_much = "cost 4294967296: expected at most 4294967295";
    vec![
        Case::stays(key(1_024), Reply::passes(FRESH)),
        Case::refused(key(1_025), 422, "key has 1025 bytes; expected 1 to 1024"),
        Case::refused(cost("4294967296"), 422, too_much),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<_> = UNFIT
        .map(|(query, why)| {
            let more = match why.split(' ').next() {
                Some("cost") => NO_COST,
                Some("factor") => NO_FACTOR,
                _ => "",
            };
            Case::refused(get(&format!("/check?{query}")), 422, &format!("{why}{more}"))
        })
        .into();
    cases.push(Case::refused(get("/check"), 422, "missing key: a limit counts the nameless key"));
    cases.extend(
        ODD.map(|rest| Case::stays(get(&format!("/check?peek=1&{rest}")), Reply::passes(FRESH))),
    );
    cases.extend(UNKNOWN.map(|(name, told)| {
        let why = format!("unknown policy '{told}': expected one of db, default, login");
        Case::refused(get(&format!("/check?key=k&policy={name}")), 404, &why)
    }));
    cases.extend(apart());
    cases.extend(many());
    cases.extend(sizes());
    cases
}
