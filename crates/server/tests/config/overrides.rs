//! `overrides` of a policy.

/// Config files and the errors they give.
pub(crate) const CASES: [(&str, &str); 37] = [
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = { key = \"a\", factor = 2 }",
        "3:1: policy.a.overrides is a table; expected a list such as [{ key = \"user=42\", \
         factor = 0.1 }]",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [\"a\"]",
        "3:14: an item of policy.a.overrides is a string; expected a table",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\" }]",
        "3:14: missing key policy.a.overrides.factor or policy.a.overrides.limits",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ factor = 2 }]",
        "3:14: missing key policy.a.overrides.key",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = 5, factor = 2 }]",
        "3:22: policy.a.overrides.key is a whole number; expected a key, such as \"user=42\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", factor = 2, limit = 1 \
         }]",
        "3:39: unknown key policy.a.overrides.limit; expected key, factor or limits (did you mean \"limits\"?)",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"\", factor = 2 }]",
        "3:22: policy.a.overrides: key is empty; expected 1 to 1024 bytes",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s per ip\", \"gcra 1/s per user\"]\noverrides = [{ key \
         = \"a\", factor = 2 }]",
        "3:22: policy.a.overrides: key is \"a\"; expected ip=… or user=…",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s per ip\", \"gcra 1/s per user\"]\noverrides = [{ key \
         = \"org=5\", factor = 2 }]",
        "3:22: policy.a.overrides: key is \"org=5\"; expected ip=… or user=…",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s per ip\", \"gcra 1/s per user\"]\noverrides = [{ key \
         = \"ip=\", factor = 2 }]",
        "3:22: policy.a.overrides: key is empty; expected 1 to 1024 bytes",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s per ip\", \"gcra 1/s per user\"]\noverrides = [{ key \
         = \"IP=1\", factor = 2 }]",
        "3:22: policy.a.overrides: key is \"IP=1\"; expected ip=… or user=…",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s per all\"]\noverrides = [{ key = \"a\", factor = 2 }]",
        "3:22: policy.a.overrides: key is \"a\", but the policy has no limit per key",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", factor = 1e3 }]",
        "3:36: policy.a.overrides.factor is 1e3; expected a non-negative decimal with at \
         most 9 decimal places, such as 0.5",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", factor = -1 }]",
        "3:36: policy.a.overrides.factor is -1; expected a non-negative decimal with at \
         most 9 decimal places, such as 0.5",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", factor = +1 }]",
        "3:36: policy.a.overrides.factor is +1; expected a non-negative decimal with at \
         most 9 decimal places, such as 0.5",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", factor = inf }]",
        "3:36: policy.a.overrides.factor is inf; expected a non-negative decimal with at \
         most 9 decimal places, such as 0.5",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", factor = 0x10 }]",
        "3:36: policy.a.overrides.factor is 0x10; expected a non-negative decimal with at \
         most 9 decimal places, such as 0.5",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", factor = 0.1234567891 \
         }]",
        "3:36: policy.a.overrides.factor is 0.1234567891; expected a non-negative decimal with at \
         most 9 decimal places, such as 0.5",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", factor = \"a half\" }]",
        "3:36: policy.a.overrides.factor is \"a half\"; expected a non-negative decimal with at \
         most 9 decimal places, such as 0.5",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", factor = true }]",
        "3:36: policy.a.overrides.factor is a boolean; expected a non-negative decimal with at \
         most 9 decimal places, such as 0.5",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", factor = 1000001 }]",
        "3:14: limit \"gcra 1/s\": factor \"1000001\" is not accepted; expected a decimal from \
         0 to 1000000 that keeps the limit within its bounds",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\", \"gcra 1/week burst 1 per user\"]\noverrides = [{ \
         key = \"user=1\", factor = 10000 }]",
        "3:14: limit \"gcra 1/week per user\": factor \"10000\" is not accepted; expected a \
         decimal from 0 to 1000000 that keeps the limit within its bounds",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s per ip\", \"gcra 1/s per user\"]\noverrides = [{ key \
         = \"ip=1\", factor = 2 }, { key = \"user=1\", factor = 2 }, { key = \"ip=1\", factor = \
         3 }]",
        "3:76: policy.a.overrides has a duplicate key",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[policy.a.overrides]]\nkey = \"a\"\nfactor = \
         2\n[[policy.a.overrides]]\nkey = \"a\"\nfactor = 2",
        "6:1: policy.a.overrides has a duplicate key",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", factor = 2, limits = [\"gcra 2/s\"] }]",
        "3:48: policy.a.overrides.limits is given besides policy.a.overrides.factor; expected one of them",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", limits = \"gcra 2/s\" }]",
        "3:36: policy.a.overrides.limits is a string; expected a list of limits, such as [\"gcra 100/s burst 200\"]",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", limits = [5] }]",
        "3:37: an item of policy.a.overrides.limits is a whole number; expected a limit, such as \"gcra 100/s burst 200\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", limits = [\"gcra 0/s\"] }]",
        "3:43: limit \"gcra 0/s\", column 6: count \"0\" is not accepted; expected a whole number from 1 to 4294967295",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", limits = [] }]",
        "3:36: policy.a.overrides.limits has 0 limits; expected 1, one for each limit that counts the key: \"gcra 1/s\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\", \"gcra 5/s per all\"]\noverrides = [{ key = \"a\", limits = [\"gcra 2/s\", \"unlimited\"] }]",
        "3:36: policy.a.overrides.limits has 2 limits; expected 1, one for each limit that counts the key: \"gcra 1/s\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s per ip\", \"gcra 5/h per user\", \"fixed-window 9/h per user\"]\noverrides = [{ key = \"user=1\", limits = [\"gcra 2/s\"] }]",
        "3:41: policy.a.overrides.limits has 1 limit; expected 2, one for each limit that counts the key: \"gcra 5/h per user\", \"fixed-window 9/h per user\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\", \"fixed-window 9/h\"]\noverrides = [{ key = \"a\", limits = [\"token-bucket 2/s\", \"gcra 9/h\"] }]",
        "3:57: an item of policy.a.overrides.limits is \"gcra 9/h\"; expected a limit that counts as \"fixed-window 9/h\" does, or unlimited",
    ),
    (
        "[policy.a]\nlimits = [\"unlimited\"]\noverrides = [{ key = \"a\", limits = [\"gcra 9/h\"] }]",
        "3:37: an item of policy.a.overrides.limits is \"gcra 9/h\"; expected a limit that counts as \"unlimited\" does, or unlimited",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s per user\"]\noverrides = [{ key = \"user=1\", limits = [\"gcra 2/s per ip\"] }]",
        "3:42: an item of policy.a.overrides.limits is \"gcra 2/s per ip\"; expected per user, as in \"gcra 1/s per user\", or no per",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", limits = [\"unlimited per ip\"] }]",
        "3:37: an item of policy.a.overrides.limits is \"unlimited per ip\"; expected no per, as in \"gcra 1/s\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s of tokens\"]\noverrides = [{ key = \"a\", limits = [\"gcra 2/s of bytes\"] }]",
        "3:37: an item of policy.a.overrides.limits is \"gcra 2/s of bytes\"; expected of tokens, as in \"gcra 1/s of tokens\", or no of",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\noverrides = [{ key = \"a\", limits = [\"gcra 2/s of bytes\"] }]",
        "3:37: an item of policy.a.overrides.limits is \"gcra 2/s of bytes\"; expected no of, as in \"gcra 1/s\"",
    ),
];
