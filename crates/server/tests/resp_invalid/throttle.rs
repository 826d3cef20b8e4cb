//! Invalid `CL.THROTTLE` commands, and numbers at the ends of their ranges.

use crate::case::Case;
use crate::support::array;

const USAGE: &str =
    "ERR Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]";
const ZERO: &str = "ERR Zero rates are not supported";

const WRONG_USAGE: [&str; 5] = [
    "CL.THROTTLE",
    "CL.THROTTLE k",
    "CL.THROTTLE k 1",
    "CL.THROTTLE k 1 1",
    "CL.THROTTLE k 1 1 1 1 1",
];

/// The numbers, and which of them is invalid.
const INVALID_NUMBERS: [(&str, &str); 12] = [
    ("x 1 1", "x"),
    ("1 x 1", "x"),
    ("1 1 x", "x"),
    ("1 1 1 x", "x"),
    ("1.5 1 1", "1.5"),
    ("1 1e3 1", "1e3"),
    ("\"\" 1 1", ""),
    ("\" 1\" 1 1", " 1"),
    ("1 0x1 1", "0x1"),
    ("\"1\\r\\n2\" 1 1", "1  2"),
    ("9223372036854775808 1 1", "9223372036854775808"),
    ("1 1 1 -9223372036854775809", "-9223372036854775809"),
];

const ZEROS: [&str; 6] = ["1 0 1", "1 1 0", "1 0 0", "1 -1 1", "1 1 -1", "1 -1 -1"];

/// The numbers, and the error of the limit.
const INVALID_LIMITS: [(&str, &str); 6] = [
    (
        "4294967294 1 1",
        "limit \"gcra 1/1s burst 4294967295\", column 17: burst \"4294967295\" is not accepted; \
         expected a burst that drains within 2^51 µs (71 years): burst * period / count",
    ),
    (
        "9223372036854775807 1 1",
        "limit \"gcra 1/1s burst 9223372036854775808\", column 17: burst \"9223372036854775808\" \
         is not accepted; expected a whole number from 1 to 4294967295",
    ),
    (
        "1 4294967296 1",
        "limit \"gcra 4294967296/1s burst 2\", column 6: count \"4294967296\" is not accepted; \
         expected a whole number from 1 to 4294967295",
    ),
    (
        "1 9223372036854775807 1",
        "limit \"gcra 9223372036854775807/1s burst 2\", column 6: count \"9223372036854775807\" is \
         not accepted; expected a whole number from 1 to 4294967295",
    ),
    (
        "0 1 2251799814",
        "limit \"gcra 1/2251799814s burst 1\", column 8: period \"2251799814s\" is not accepted; \
         expected at most 2^51 µs (71 years)",
    ),
    (
        "1 1 2251799813",
        "limit \"gcra 1/2251799813s burst 2\", column 26: burst \"2\" is not accepted; expected a \
         burst that drains within 2^51 µs (71 years): burst * period / count",
    ),
];

/// A quantity above the capacity is always denied; a negative one is a refund, which stops when the limit is
/// full.
const EXTREMES: [(&str, [i64; 5]); 15] = [
    ("CL.THROTTLE a 15 30 60", [0, 16, 15, -1, 2]),
    ("cl.throttle a 15 30 60 +1", [0, 16, 14, -1, 4]),
    ("CL.THROTTLE b 0 4294967295 1", [0, 1, 0, -1, 1]),
    ("CL.THROTTLE b 0 4294967295 1", [1, 1, 0, 1, 1]),
    ("CL.THROTTLE c 4294967294 4294967295 1", [0, 4_294_967_295, 4_294_967_294, -1, 1]),
    ("CL.THROTTLE d 0 1 2251799813", [0, 1, 0, -1, 2_251_799_813]),
    ("CL.THROTTLE e 4 1 1 6", [1, 5, 5, -1, 0]),
    ("CL.THROTTLE e 4 1 1 4294967295", [1, 5, 5, -1, 0]),
    ("CL.THROTTLE e 4 1 1 4294967296", [1, 5, 5, -1, 0]),
    ("CL.THROTTLE e 4 1 1 9223372036854775807", [1, 5, 5, -1, 0]),
    ("CL.THROTTLE e 4 1 1 0", [0, 5, 5, -1, 0]),
    ("CL.THROTTLE e 4 1 1 5", [0, 5, 0, -1, 5]),
    ("CL.THROTTLE e 4 1 1 -1", [0, 5, 1, -1, 4]),
    ("CL.THROTTLE e 4 1 1 -4294967296", [0, 5, 5, -1, 0]),
    ("CL.THROTTLE e 4 1 1 -9223372036854775808", [0, 5, 5, -1, 0]),
];

pub(crate) fn cases() -> Vec<Case> {
    let error = |numbers: &str, message: &str| {
        Case::error(&(&format!("CL.THROTTLE k {numbers}"), &format!("ERR {message}")))
    };
    let with_key = |key: &[u8]| array(&[b"CL.THROTTLE", key, b"0", b"1", b"1"]);
    let fits = "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:1\r\n";
    let mut cases: Vec<_> = EXTREMES.iter().map(Case::numbers).collect();
    cases.extend(WRONG_USAGE.map(|line| Case::error(&(line, USAGE))));
    cases
        .extend(INVALID_NUMBERS.map(|(numbers, which)| {
            error(numbers, &format!("Couldn't parse as integer: {which}"))
        }));
    cases.extend(ZEROS.map(|numbers| Case::error(&(&format!("CL.THROTTLE k {numbers}"), ZERO))));
    cases.extend(INVALID_LIMITS.map(|(numbers, message)| error(numbers, message)));
    cases.extend([
        Case::stays(with_key(b""), "-ERR key is empty; expected 1 to 1024 bytes\r\n"),
        Case::stays(with_key(&[b'k'; 1024]), fits),
        Case::stays(with_key(&[b'k'; 1025]), "-ERR key has 1025 bytes; expected 1 to 1024\r\n"),
        Case::stays(with_key(b"\0\xff\r\n "), fits),
    ]);
    cases
}
