//! Files that are not TOML, and errors that follow from that.

/// Config files and the errors they give.
pub(crate) const CASES: [(&str, &str); 28] = [
    ("[server", "1:8: invalid TOML: unclosed table, expected `]`"),
    (
        "= 5",
        "1:1: invalid TOML: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`",
    ),
    ("enforce on", "1:9: invalid TOML: key with no value, expected `=`"),
    (
        "[server]\nhttp =",
        "2:7: invalid TOML: string values must be quoted, expected literal string",
    ),
    ("[server]\nhttp = 127.0.0.1:8080", "2:13: invalid TOML: invalid float"),
    (
        "[server]\nhttp = off",
        "2:8: invalid TOML: string values must be quoted, expected literal string",
    ),
    (
        "[server]\nhttp = \"127.0.0.1:8080",
        "2:23: invalid TOML: invalid basic string, expected `\"`",
    ),
    ("[server]\nhttp = \"off\"\nhttp = \"off\"", "3:1: invalid TOML: duplicate key"),
    ("[server]\n[store]\n[server]", "3:2: invalid TOML: duplicate key"),
    (
        "[server]\nhttp = \"off\" resp = \"off\"",
        "2:14: invalid TOML: unexpected key or value, expected newline, `#`",
    ),
    ("[policy.a]\nlimits = [", "2:11: invalid TOML: unclosed array, expected `]`"),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\" \"gcra 2/s\"]",
        "2:22: invalid TOML: missing comma between array elements, expected `,`",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"\n[store]\n",
        "3:1: invalid TOML: missing comma between array elements, expected `,`\n3:2: invalid \
         TOML: string values must be quoted, expected literal string\n3:8: invalid TOML: \
         unclosed array, expected `]`",
    ),
    (
        "[store]\nprefix = \"a\\qb\"",
        "2:13: invalid TOML: missing escaped value, expected `b`, `e`, `f`, `n`, `r`, `\\`, \
         `\"`, `x`, `u`, `U`",
    ),
    ("[server]\nthreads = 1__0", "2:12: invalid TOML: `_` may only go between digits"),
    ("[server]\nthreads = 010", "2:11: invalid TOML: unexpected leading zero"),
    (
        "[server]\nthreads = 0x",
        "2:11: server.threads is 0x; expected a whole number from 1 to 1024",
    ),
    (
        "[server]\nthreads = 10_0\u{1b}000",
        "2:11: server.threads is 10_0\\u{1b}000; expected a whole number from 1 to 1024",
    ),
    (
        "[server]\nthreads = 1x",
        "2:11: invalid TOML: string values must be quoted, expected literal string",
    ),
    ("[policy.a]\nlimits = {", "2:11: invalid TOML: unclosed inline table, expected `}`"),
    (
        "[]\n",
        "1:2: invalid TOML: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`",
    ),
    (
        "[policy.a]\nlimits.x = 1\nlimits = []",
        "2:1: policy.a.limits is a table; expected a list of limits, such as [\"gcra 100/s burst \
         200\"]\n3:1: invalid TOML: duplicate key",
    ),
    ("server = {}\n[server]\nhttp = \"off\"", "2:2: invalid TOML: duplicate key"),
    ("\r", "1:2: invalid TOML: carriage return must be followed by newline, expected newline"),
    ("a\u{0}b = 1", "1:2: invalid TOML: invalid unquoted key, expected letters, numbers, `-`, `_`"),
    ("é = 1", "1:1: invalid TOML: invalid unquoted key, expected letters, numbers, `-`, `_`"),
    (
        "[policy.a]\nlimits = [gcra]\n[sever]",
        "2:11: invalid TOML: string values must be quoted, expected literal string\n3:2: unknown \
         key sever; expected server, store, policy, rule or lists (did you mean \"server\"?)",
    ),
    (
        "[policy.a]\nlimts = \n[policy.b]\nlimts = []",
        "2:9: invalid TOML: string values must be quoted, expected literal string\n4:1: unknown \
         key policy.b.limts; expected limits, candidate, overrides, enforce, headers, \
         distribution, flush, cap, read, max_slice, on_failure, generation or max_keys (did you mean \"limits\"?)",
    ),
];
