//! Invalid batches. None of them takes any cost.

use crate::case::{Case, FRESH, Reply};
use crate::support::http::post;

const BATCH: &str = "/v1/check/batch";

const MALFORMED: [(&str, &str); 13] = [
    ("", "EOF while parsing a value at line 1 column 0"),
    ("{}", "missing field `checks` at line 1 column 2"),
    ("{\"key\":\"a\"}", "unknown field `key`, expected `checks` at line 1 column 6"),
    ("{\"checks\":null}", "invalid type: null, expected a sequence at line 1 column 14"),
    ("{\"checks\":{}}", "invalid type: map, expected a sequence at line 1 column 10"),
    ("{\"checks\":[],\"checks\":[]}", "duplicate field `checks` at line 1 column 21"),
    ("{\"checks\":[{\"key\":\"a\"},]}", "trailing comma at line 1 column 24"),
    ("{\"checks\":[{\"key\":\"a\"}", "EOF while parsing a list at line 1 column 22"),
    (
        "{\"checks\":[1]}",
        "invalid type: integer `1`, expected an object such as {\"key\": \"user-42\"} at line 1 column 12",
    ),
    (
        "{\"checks\":[null]}",
        "invalid type: null, expected an object such as {\"key\": \"user-42\"} at line 1 column 15",
    ),
    (
        "{\"checks\":[{\"key\":\"a\"},{\"kye\":\"a\"}]}",
        "unknown field `kye`, expected one of `policy`, `key`, `keys`, `cost`, `costs`, `factor`, `id`, `each` at line 1 column 29",
    ),
    // Arrays are not accepted in place of objects.
    (
        "[[{\"key\":\"z\"}]]",
        "invalid type: sequence, expected an object such as {\"checks\": [{\"key\": \"a\"}]} at line 1 column 0",
    ),
    (
        "{\"checks\":[[\"default\",\"z\",null,1,null,null]]}",
        "invalid type: sequence, expected an object such as {\"key\": \"user-42\"} at line 1 column 11",
    ),
];

/// The error names the check by its index, counted from 0.
const UNFIT: [(&str, u16, &str); 9] = [
    (
        "{\"key\":\"a\"},{\"cost\":-1}",
        422,
        "check 1: cost -1: expected a whole number from 0 to 4294967295",
    ),
    ("", 422, "0 checks: expected 1 to 1000"),
    ("{}", 422, "check 0: missing key: a limit counts the nameless key"),
    ("{\"key\":\"a\"},{\"key\":\"\"}", 422, "check 1: key is empty; expected 1 to 1024 bytes"),
    (
        "{\"key\":\"a\"},{\"key\":\"a\",\"id\":\"\"}",
        422,
        "check 1: id is empty; expected 1 to 64 bytes",
    ),
    (
        "{\"key\":\"a\"},{\"key\":\"a\",\"cost\":4294967296}",
        422,
        "check 1: cost 4294967296: expected a whole number from 0 to 4294967295",
    ),
    (
        "{\"key\":\"a\"},{\"key\":\"a\",\"factor\":-1}",
        422,
        "check 1: factor -1: expected a non-negative decimal with at most 9 decimal places, such as 0.5",
    ),
    (
        "{\"key\":\"a\"},{\"key\":\"b\"},{\"policy\":\"nope\",\"key\":\"a\"}",
        404,
        "check 2: unknown policy 'nope': expected one of db, default, login",
    ),
    (
        "{\"policy\":\"login\",\"keys\":{\"ip\":\"1\"}}",
        422,
        "check 0: missing key \"user\": a limit counts per user",
    ),
];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<_> =
        MALFORMED.map(|(json, why)| Case::rejected(post(BATCH, json), 400, why)).into();
    cases.extend(UNFIT.map(|(checks, status, why)| {
        Case::rejected(post(BATCH, &format!("{{\"checks\":[{checks}]}}")), status, why)
    }));
    let many = |count: usize| {
        let checks = vec!["{\"cost\":0,\"key\":\"k\"}"; count].join(",");
        post(BATCH, &format!("{{\"checks\":[{checks}]}}"))
    };
    let results = format!("{{\"results\":[{}]}}", vec![FRESH; 1_000].join(","));
    cases.push(Case::stays(many(1_000), Reply::json(&results)));
    cases.push(Case::rejected(many(1_001), 422, "1001 checks: expected 1 to 1000"));
    // None of the batches above has taken any cost.
    let peek = |key: &str| post("/v1/peek", &format!("{{\"key\":\"{key}\"}}"));
    cases.push(Case::stays(peek("a"), Reply::fresh()));
    cases.push(Case::stays(peek("b"), Reply::fresh()));
    cases
}
