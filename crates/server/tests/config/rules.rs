//! `[[rule]]` and `[lists]`.

/// Config files and the errors they give.
pub(crate) const CASES: [(&str, &str); 27] = [
    ("[[rule]]", "1:1: missing key rule.policy"),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"b\"",
        "4:10: rule.policy is \"b\"; expected a policy of this file: \"a\"",
    ),
    (
        "[policy.login]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"logn\"",
        "4:10: rule.policy is \"logn\"; expected a policy of this file: \"login\" (did you mean \
         \"login\"?)",
    ),
    (
        "[[rule]]\npolicy = \"a\"",
        "2:10: rule.policy is \"a\"; expected a policy of this file, but it has none",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = 5",
        "4:10: rule.policy is a whole number; expected the name of a policy",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\nwhen = 5",
        "5:8: rule.when is a whole number; expected a table",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\nwhen = { method = \
         \"POST\" }",
        "5:19: rule.when.method is a string; expected a list of methods, such as [\"POST\"]",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\nwhen = { method = [5] }",
        "5:20: an item of rule.when.method is a whole number; expected a method, such as \
         \"POST\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\nwhen = { method = \
         [\"\"] }",
        "5:20: an item of rule.when.method is empty; expected a method, such as \"POST\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\nwhen = { path = 5 }",
        "5:17: rule.when.path is a whole number; expected a path, such as \"/login\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\nwhen = { host = \"\" }",
        "5:17: rule.when.host is empty; expected a host, such as \"*.example.org\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\nwhen = { methods = [] }",
        "5:10: unknown key rule.when.methods; expected method, path or host (did you mean \
         \"method\"?)",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\nkeys = \"ip\"",
        "5:8: rule.keys is a string; expected a table",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\nkeys = { \"a b\" = \
         \"client.address\" }",
        "5:18: rule.keys: name \"a b\" contains ' '; expected letters, digits, '-', '_' or '.'",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\nkeys = { ip = 5 }",
        "5:15: rule.keys.ip is a whole number; expected the source of the key, such as \
         \"client.address\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\nkeys = { ip = \"\" }",
        "5:15: rule.keys.ip is empty; expected the source of the key, such as \"client.address\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\ncost = 0",
        "5:8: rule.cost is 0; expected a whole number from 1 to 4294967295",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\ncost = 4294967296",
        "5:8: rule.cost is 4294967296; expected a whole number from 1 to 4294967295",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\ncost = \"1\"",
        "5:8: rule.cost is a string; expected a whole number from 1 to 4294967295",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\n[[rule]]\npolicy = \"a\"\nlimit = 1",
        "5:1: unknown key rule.limit; expected when, policy, keys or cost",
    ),
    (
        "[lists]\nallow = \"10.0.0.0/8\"",
        "2:9: lists.allow is a string; expected a list of networks and keys",
    ),
    (
        "[lists]\nallow = [5]",
        "2:10: an item of lists.allow is a whole number; expected an address, or a network such \
         as 10.0.0.0/8 or 2001:db8::/32, or a key such as \"user=7\"",
    ),
    (
        "[lists]\nallow = [\"x\"]",
        "2:10: an item of lists.allow is \"x\"; expected an address, or a network such as \
         10.0.0.0/8 or 2001:db8::/32, or a key such as \"user=7\"",
    ),
    (
        "[lists]\ndeny = [\"10.0.0.0/33\"]",
        "2:9: an item of lists.deny is \"10.0.0.0/33\"; expected an address, or a network such \
         as 10.0.0.0/8 or 2001:db8::/32, or a key such as \"user=7\"",
    ),
    (
        "[lists]\ndeny = [\"user=\"]",
        "2:9: an item of lists.deny is \"user=\"; expected an address, or a network such as \
         10.0.0.0/8 or 2001:db8::/32, or a key such as \"user=7\"",
    ),
    (
        "[lists]\ndeny = [\"a b=1\"]",
        "2:9: an item of lists.deny is \"a b=1\"; expected an address, or a network such as \
         10.0.0.0/8 or 2001:db8::/32, or a key such as \"user=7\"",
    ),
    ("[lists]\nblock = []", "2:1: unknown key lists.block; expected allow or deny"),
];
