//! Invalid and unusual JSON bodies.

use crate::case::{Case, Reply};
use crate::support::http::post;

/// Sent to `/v1/check`: invalid JSON.
const MALFORMED: &[(&str, &str)] = &[
    ("", "EOF while parsing a value at line 1 column 0"),
    (" \n", "EOF while parsing a value at line 2 column 0"),
    ("{", "EOF while parsing an object at line 1 column 1"),
    ("{\"key\"", "EOF while parsing an object at line 1 column 6"),
    ("{\"key\":", "EOF while parsing a value at line 1 column 7"),
    ("{\"key\":\"a", "EOF while parsing a string at line 1 column 9"),
    ("{\"key\":\"a\"", "EOF while parsing an object at line 1 column 10"),
    ("{\"key\":\"a\",}", "trailing comma at line 1 column 12"),
    ("{\"key\":\"a\"}}", "trailing characters at line 1 column 12"),
    ("{\"key\":\"a\"}{}", "trailing characters at line 1 column 12"),
    ("{\"key\":\"a\"} x", "trailing characters at line 1 column 13"),
    ("{\"key\":\"a\"}\0", "trailing characters at line 1 column 12"),
    ("{'key':'a'}", "key must be a string at line 1 column 2"),
    ("{key:\"a\"}", "key must be a string at line 1 column 2"),
    ("{\"key\"=\"a\"}", "expected `:` at line 1 column 7"),
    ("{\"key\":\"a\";\"cost\":1}", "expected `,` or `}` at line 1 column 11"),
    ("{\"key\":a}", "expected value at line 1 column 8"),
    ("// {}", "expected value at line 1 column 1"),
    ("{\"key\":\"a\\q\"}", "invalid escape at line 1 column 11"),
    ("{\"key\":\"\\u12\"}", "invalid escape at line 1 column 14"),
    (
        "{\"key\":\"a\nb\"}",
        "control character (\\u0000-\\u001F) found while parsing a string at line 2 column 0",
    ),
    (
        "{\"key\":\"a\0\"}",
        "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 10",
    ),
    ("{\"key\":\"\\ud800\"}", "unexpected end of hex escape at line 1 column 15"),
    ("{\"key\":\"\\udc00\"}", "lone leading surrogate in hex escape at line 1 column 14"),
    ("{\"key\":\"\\ud800\\ud800\"}", "lone leading surrogate in hex escape at line 1 column 20"),
    ("{\"cost\":NaN}", "expected value at line 1 column 9"),
    ("{\"cost\":Infinity}", "expected value at line 1 column 9"),
    ("{\"cost\":01}", "invalid number at line 1 column 10"),
    ("{\"cost\":+1}", "expected value at line 1 column 9"),
    ("{\"cost\":.5}", "expected value at line 1 column 9"),
    ("{\"cost\":1.}", "invalid number at line 1 column 11"),
    ("{\"cost\":0x1}", "expected `,` or `}` at line 1 column 10"),
    ("{\"factor\":NaN}", "expected value at line 1 column 11"),
    ("{\"factor\":1.}", "invalid number at line 1 column 13"),
    ("{\"factor\":01}", "invalid number at line 1 column 12"),
    ("{\"key\":\"a\",\"key\":\"a\"}", "duplicate field `key` at line 1 column 16"),
    ("{\"cost\":1,\"cost\":1}", "duplicate field `cost` at line 1 column 16"),
    ("{\"key\":\"a\",\"\\u006bey\":\"b\"}", "duplicate field `key` at line 1 column 21"),
    ("{\"keys\":{},\"keys\":{}}", "duplicate field `keys` at line 1 column 17"),
    (
        "{\"Key\":\"a\"}",
        "unknown field `Key`, expected one of `policy`, `key`, `keys`, `cost`, `costs`, `factor`, `id`, `each` at line 1 column 6",
    ),
    (
        "{\"\":1}",
        "unknown field ``, expected one of `policy`, `key`, `keys`, `cost`, `costs`, `factor`, `id`, `each` at line 1 column 3",
    ),
    (
        "{\"checks\":[]}",
        "unknown field `checks`, expected one of `policy`, `key`, `keys`, `cost`, `costs`, `factor`, `id`, `each` at line 1 column 9",
    ),
];

/// Sent to `/v1/check`: not an object. An array of all eight members in the order of our source is
/// rejected, too.
const NOT_OBJECTS: [(&str, &str, usize); 10] = [
    ("null", "null", 4),
    ("true", "boolean `true`", 4),
    ("1", "integer `1`", 1),
    ("-1", "integer `-1`", 2),
    ("1.5", "floating point `1.5`", 3),
    ("\"a\"", "string \"a\"", 3),
    ("[]", "sequence", 0),
    ("[{\"key\":\"a\"}]", "sequence", 0),
    ("[\"default\",\"z\",null,1,null,null,null,null]", "sequence", 0),
    ("[null,\"z\",{},1,{},1,\"id\",true]", "sequence", 0),
];

/// Sent to `/v1/check`: values of the wrong type.
const WRONG_TYPES: &[(&str, &str)] = &[
    ("{\"key\":1}", "invalid type: integer `1`, expected a string at line 1 column 8"),
    ("{\"key\":true}", "invalid type: boolean `true`, expected a string at line 1 column 11"),
    ("{\"key\":[]}", "invalid type: sequence, expected a string at line 1 column 7"),
    ("{\"key\":{}}", "invalid type: map, expected a string at line 1 column 7"),
    ("{\"key\":[\"a\"]}", "invalid type: sequence, expected a string at line 1 column 7"),
    ("{\"policy\":1}", "invalid type: integer `1`, expected a string at line 1 column 11"),
    ("{\"id\":1}", "invalid type: integer `1`, expected a string at line 1 column 7"),
    (
        "{\"keys\":\"a\"}",
        "invalid type: string \"a\", expected keys by their names, such as {\"ip\": \"203.0.113.9\"} at line 1 column 11",
    ),
    (
        "{\"keys\":[]}",
        "invalid type: sequence, expected keys by their names, such as {\"ip\": \"203.0.113.9\"} at line 1 column 8",
    ),
    (
        "{\"keys\":1}",
        "invalid type: integer `1`, expected keys by their names, such as {\"ip\": \"203.0.113.9\"} at line 1 column 9",
    ),
    ("{\"keys\":{\"ip\":1}}", "invalid type: integer `1`, expected a string at line 1 column 15"),
    ("{\"keys\":{\"ip\":null}}", "invalid type: null, expected a string at line 1 column 18"),
    ("{\"cost\":\"1\"}", "cost \"1\": expected a whole number from 0 to 4294967295"),
    ("{\"cost\":true}", "cost true: expected a whole number from 0 to 4294967295"),
    (
        "{\"key\":\"a\",\"factor\":\"1\"}",
        "factor \"1\": expected a non-negative decimal with at most 9 decimal places, such as 0.5",
    ),
    (
        "{\"key\":\"a\",\"factor\":true}",
        "factor true: expected a non-negative decimal with at most 9 decimal places, such as 0.5",
    ),
    (
        "{\"key\":\"a\",\"factor\":[1]}",
        "factor [1]: expected a non-negative decimal with at most 9 decimal places, such as 0.5",
    ),
    (
        "{\"key\":\"a\",\"factor\":{}}",
        "factor {}: expected a non-negative decimal with at most 9 decimal places, such as 0.5",
    ),
    ("{\"cost\":[]}", "cost []: expected a whole number from 0 to 4294967295"),
    (
        "{\"costs\":1}",
        "invalid type: integer `1`, expected costs by their units, such as {\"tokens\": 850} at line 1 column 10",
    ),
    (
        "{\"costs\":[[\"tokens\",1]]}",
        "invalid type: sequence, expected costs by their units, such as {\"tokens\": 850} at line 1 column 9",
    ),
    (
        "{\"costs\":{\"tokens\":\"1\"}}",
        "cost of 'tokens' \"1\": expected a whole number from 0 to 4294967295",
    ),
    (
        "{\"costs\":{\"tokens\":null}}",
        "cost of 'tokens' null: expected a whole number from 0 to 4294967295",
    ),
    ("{\"each\":1}", "invalid type: integer `1`, expected a boolean at line 1 column 9"),
    (
        "{\"each\":\"true\"}",
        "invalid type: string \"true\", expected a boolean at line 1 column 14",
    ),
];

const FACTOR: &str = "expected a non-negative decimal with at most 9 decimal places, such as 0.5";

/// Sent to `/v1/check`: valid JSON with invalid values.
const INVALID_VALUES: &[(&str, &str)] = &[
    ("{\"key\":\"a\",\"cost\":-0}", "cost -0: expected a whole number from 0 to 4294967295"),
    ("{\"key\":\"a\",\"cost\":1.5}", "cost 1.5: expected a whole number from 0 to 4294967295"),
    ("{\"key\":\"a\",\"cost\":-1}", "cost -1: expected a whole number from 0 to 4294967295"),
    ("{\"key\":\"a\",\"cost\":1e-1}", "cost 1e-1: expected a whole number from 0 to 4294967295"),
    ("{\"key\":\"a\",\"cost\":1e99}", "cost 1e99: expected a whole number from 0 to 4294967295"),
    (
        "{\"key\":\"a\",\"cost\":1e999999999}",
        "cost 1e999999999: expected a whole number from 0 to 4294967295",
    ),
    (
        "{\"key\":\"a\",\"cost\":18446744073709551616}",
        "cost 18446744073709551616: expected a whole number from 0 to 4294967295",
    ),
    ("{\"key\":\"a\",\"cost\":-0.5}", "cost -0.5: expected a whole number from 0 to 4294967295"),
    ("{}", "missing key: a limit counts the nameless key"),
    ("{\"key\":null}", "missing key: a limit counts the nameless key"),
    ("{\"keys\":{}}", "missing key: a limit counts the nameless key"),
    ("{\"keys\":{\"ip\":\"a\"}}", "missing key: a limit counts the nameless key"),
    ("{\"key\":\"\"}", "key is empty; expected 1 to 1024 bytes"),
    ("{\"key\":\"a\",\"id\":\"\"}", "id is empty; expected 1 to 64 bytes"),
    (
        "{\"key\":\"a\",\"cost\":4294967296}",
        "cost 4294967296: expected a whole number from 0 to 4294967295",
    ),
    (
        "{\"key\":\"a\",\"cost\":18446744073709551615}",
        "cost 18446744073709551615: expected a whole number from 0 to 4294967295",
    ),
    (
        "{\"key\":\"a\",\"factor\":1000001}",
        "limit \"gcra 1/s burst 5\": factor \"1000001\" is not accepted; expected a decimal from 0 to 1000000 that keeps the limit within its bounds",
    ),
    ("{\"key\":\"a\",\"factor\":0.0000000001}", "factor 0.0000000001: "),
    ("{\"key\":\"a\",\"factor\":-1}", "factor -1: "),
    ("{\"key\":\"a\",\"factor\":1e3}", "factor 1e3: "),
    ("{\"key\":\"a\",\"factor\":99999999999999999999}", "factor 99999999999999999999: "),
    ("{\"policy\":\"login\"}", "missing key \"ip\": a limit counts per ip"),
    ("{\"policy\":\"login\",\"key\":\"a\"}", "missing key \"ip\": a limit counts per ip"),
    (
        "{\"policy\":\"login\",\"keys\":{\"ip\":\"a\"}}",
        "missing key \"user\": a limit counts per user",
    ),
    (
        "{\"policy\":\"login\",\"keys\":{\"user\":\"a\"}}",
        "missing key \"ip\": a limit counts per ip",
    ),
    (
        "{\"policy\":\"login\",\"keys\":{\"IP\":\"a\",\"user\":\"b\"}}",
        "missing key \"ip\": a limit counts per ip",
    ),
    (
        "{\"policy\":\"login\",\"keys\":{\"ip\":\"\",\"user\":\"b\"}}",
        "ip: key is empty; expected 1 to 1024 bytes",
    ),
    (
        "{\"policy\":\"login\",\"keys\":{\"ip\":\"a\",\"user\":\"b\",\"ip\":\"c\"}}",
        "key \"ip\" is given twice",
    ),
    (
        "{\"policy\":\"login\",\"keys\":{\"ip\":\"a\",\"user\":\"b\",\"\\u0069p\":\"a\"}}",
        "key \"ip\" is given twice",
    ),
    (
        "{\"policy\":\"login\",\"keys\":{\"ip\":\"a\",\"user\":\"b\",\"\":\"c\"}}",
        "the name of a key '' has 0 bytes; expected 1 to 64",
    ),
    (
        "{\"key\":\"a\",\"costs\":{\"tokens\":-1}}",
        "cost of 'tokens' -1: expected a whole number from 0 to 4294967295",
    ),
    (
        "{\"key\":\"a\",\"costs\":{\"tokens\":4294967296}}",
        "cost of 'tokens' 4294967296: expected a whole number from 0 to 4294967295",
    ),
    (
        "{\"key\":\"a\",\"costs\":{\"tokens\":1}}",
        "cost of \"tokens\": no limit of the policy has this unit (of UNIT)",
    ),
    (
        "{\"key\":\"a\",\"costs\":{\"tokens\":0}}",
        "cost of \"tokens\": no limit of the policy has this unit (of UNIT)",
    ),
    (
        "{\"key\":\"a\",\"costs\":{\"\\u0000\":1}}",
        "cost of \"\\0\": no limit of the policy has this unit (of UNIT)",
    ),
    ("{\"key\":\"a\",\"costs\":{\"a\":1,\"a\":1}}", "the cost of \"a\" is given twice"),
    ("{\"key\":\"a\",\"costs\":{\"\":1}}", "the unit of a cost '' has 0 bytes; expected 1 to 64"),
    ("{\"key\":\"a\",\"keys\":{\"\":\"c\"}}", "the name of a key '' has 0 bytes; expected 1 to 64"),
];

const KNOWN: &str = "expected one of db, default, login";

/// Names of policies in JSON, and in the error message.
const UNKNOWN: [(&str, &str); 8] = [
    ("nope", "nope"),
    ("", ""),
    ("Default", "Default"),
    ("default ", "default "),
    ("default.candidate", "default.candidate"),
    ("CL.THROTTLE", "CL.THROTTLE"),
    ("a\\r\\nb\\u0000", "a\r\nb\0"),
    ("\\u00e4\\ud83d\\ude00", "ä😀"),
];

/// Content types that are not JSON.
const OTHER_TYPES: [&str; 12] = [
    "",
    "content-type:\r\n",
    "content-type: text/plain\r\n",
    "content-type: application/x-www-form-urlencoded\r\n",
    "content-type: application/jsonp\r\n",
    "content-type: application/json2; charset=utf-8\r\n",
    "content-type: application/problem+json\r\n",
    "content-type: application/vnd.api+json\r\n",
    "content-type: text/json\r\n",
    "content-type: json\r\n",
    "content-type: \"application/json\"\r\n",
    "content-type: application/json, text/plain\r\n",
];

/// Content types that are JSON.
const JSON_TYPES: [&str; 4] = [
    "Content-Type: APPLICATION/JSON",
    "content-type: application/json;charset=utf-8",
    "content-type:application/json ; charset=\"utf-8\"; x=y",
    "content-type: application/json;",
];

/// Sent to `/v1/peek`: unusual, but valid.
const UNUSUAL: &[&str] = &[
    "{\"key\":\"k\",\"cost\":1.0}",
    "{\"key\":\"k\",\"cost\":1e0}",
    "{\"key\":\"k\",\"cost\":0.1e1}",
    "{\"key\":\"k\",\"cost\":10E-1}",
    "\t\r\n {\"key\" : \"k\"}\r\n ",
    "{\"k\\u0065y\":\"\\u006b\"}",
    "{\"key\":\"k\",\"policy\":null,\"keys\":null,\"cost\":null,\"factor\":null,\"id\":null}",
    "{\"key\":\"k\",\"policy\":\"default\"}",
    "{\"key\":\"k\",\"cost\":0}",
    "{\"key\":\"k\",\"factor\":1}",
    "{\"key\":\"k\",\"factor\":1.000000000}",
    "{\"key\":\"k\",\"keys\":{}}",
    "{\"key\":\"k\",\"keys\":{\"ip\":\"a\"}}",
    "{\"key\":\"\\u0000\"}",
    "{\"key\":\"\\ud83d\\ude00\"}",
    "{\"key\":\"ä\\n\\\"\\\\\\/\"}",
];

/// Sizes at a limit, and one beyond it.
fn sizes() -> Vec<Case> {
    let key = |key: &str| post("/v1/peek", &format!("{{\"key\":\"{key}\"}}"));
    let id = |id: &str| post("/v1/peek", &format!("{{\"key\":\"k\",\"id\":\"{id}\"}}"));
    let ip = |ip: &str| {
        let json = format!("{{\"policy\":\"login\",\"keys\":{{\"ip\":\"{ip}\",\"user\":\"u\"}}}}");
        post("/v1/peek", &json)
    };
    let of_ip = "{\"allowed\":true,\"limit\":3,\"remaining\":3,\"retry_after_ms\":0,\
                 \"reset_after_ms\":0,\"policy\":\"login\",\"bound_by\":\"fixed-window 3/h per ip\"}";
    let of_login = "cache-control: no-store\r\nratelimit: \"login-1\";r=3\r\n\
                    ratelimit-policy: \"login-1\";q=3;w=3600, \"login-2\";q=1;w=1;tollgate-burst=5\r\n";
    let (key_size, id_size) =
        ("key has 1025 bytes; expected 1 to 1024", "id has 65 bytes; expected 1 to 64");
    vec![
        Case::stays(key(&"k".repeat(1_024)), Reply::fresh()),
        Case::rejected(key(&"k".repeat(1_025)), 422, key_size),
        Case::stays(key(&"\\u00e4".repeat(512)), Reply::fresh()),
        Case::rejected(key(&format!("{}a", "\\u00e4".repeat(512))), 422, key_size),
        Case::stays(id(&"i".repeat(64)), Reply::fresh()),
        Case::rejected(id(&"i".repeat(65)), 422, id_size),
        Case::stays(ip(&"k".repeat(1_024)), Reply::json(of_ip).fields(of_login)),
        Case::rejected(ip(&"k".repeat(1_025)), 422, &format!("ip: {key_size}")),
    ]
}

/// Nested as deep as the body size allows: a recursive parser would overflow the stack.
fn deep() -> Vec<Case> {
    let of = |field: &str, open: &str| {
        let depth = (64 * 1024 - 20) / open.len();
        post("/v1/check", &format!("{{\"{field}\":{}", open.repeat(depth)))
    };
    let no_text = "invalid type: sequence, expected a string at line 1 column 7";
    let no_keys = "invalid type: sequence, expected keys by their names, such as \
                   {\"ip\": \"203.0.113.9\"} at line 1 column 8";
    let unknown = "unknown field `x`, expected one of `policy`, `key`, `keys`, `cost`, \
                   `costs`, `factor`, `id`, `each` at line 1 column 4";
    let cut = "EOF while parsing a list at line 1 column 65526";
    vec![
        Case::rejected(of("key", "["), 400, no_text),
        Case::rejected(of("keys", "["), 400, no_keys),
        Case::rejected(
            of("keys", "{\"a\":"),
            400,
            "invalid type: map, expected a string at line 1 column 13",
        ),
        Case::rejected(of("x", "["), 400, unknown),
        Case::rejected(of("factor", "["), 400, cut),
    ]
}

/// Bytes that are not UTF-8.
fn invalid_utf8() -> Vec<Case> {
    let with = |bytes: &[u8]| {
        let body = [b"{\"key\":\"", bytes, b"\"}"].concat();
        let head = post("/v1/check", &"x".repeat(body.len())).into_bytes();
        [&head[..head.len() - body.len()], &body].concat()
    };
    let bad: [&[u8]; 5] = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe4"];
    bad.map(|bytes| {
        Case::rejected(with(bytes), 400, "invalid unicode code point at line 1 column 9")
    })
    .into()
}

pub(crate) fn cases() -> Vec<Case> {
    let check = |json: &str| post("/v1/check", json);
    let mut cases: Vec<_> =
        MALFORMED.iter().map(|(json, why)| Case::rejected(check(json), 400, why)).collect();
    cases.extend(NOT_OBJECTS.map(|(json, what, column)| {
        let expected = "expected an object such as {\"key\": \"user-42\"}";
        let why = format!("invalid type: {what}, {expected} at line 1 column {column}");
        Case::rejected(check(json), 400, &why)
    }));
    cases.extend(WRONG_TYPES.iter().map(|(json, why)| Case::rejected(check(json), 400, why)));
    cases.extend(INVALID_VALUES.iter().map(|(json, why)| {
        let more = if why.starts_with("factor ") { FACTOR } else { "" };
        Case::rejected(check(json), 422, &format!("{why}{more}"))
    }));
    cases.extend(UNKNOWN.map(|(name, quoted)| {
        let why = format!("unknown policy '{quoted}': {KNOWN}");
        Case::rejected(check(&format!("{{\"policy\":\"{name}\",\"key\":\"a\"}}")), 404, &why)
    }));
    let typed = |field: &str| {
        let body = "{\"key\":\"k\"}";
        format!("POST /v1/peek HTTP/1.1\r\nhost: t\r\n{field}content-length: 11\r\n\r\n{body}")
    };
    cases.extend(OTHER_TYPES.map(|field| {
        let why = "expected a JSON body and the header content-type: application/json";
        Case::rejected(typed(field), 415, why)
    }));
    cases.extend(["null", "http://127.0.0.1:8080", "http://evil.example:8080"].map(|origin| {
        let field = format!("origin: {origin}\r\ncontent-type: application/json\r\n");
        Case::rejected(
            typed(&field),
            403,
            "requests from web pages are not accepted (header origin)",
        )
    }));
    cases.extend(
        JSON_TYPES.map(|field| Case::stays(typed(&format!("{field}\r\n")), Reply::fresh())),
    );
    cases.extend(UNUSUAL.iter().map(|json| Case::stays(post("/v1/peek", json), Reply::fresh())));
    cases.extend(["reserve", "settle", "release", "renew"].map(|act| {
        let sent = post(&format!("/v1/{act}"), "{\"key\":\"a\"}");
        Case::rejected(sent, 422, &format!("{act} needs an id"))
    }));
    cases.push(Case::rejected(
        post("/v1/charge", "{\"key\":\"debtor\",\"cost\":4294967295}"),
        422,
        "the debt would be too large: it may take at most 2^51 µs (71 years) to drain",
    ));
    cases.extend(sizes());
    cases.extend(deep());
    cases.extend(invalid_utf8());
    cases
}
