//! Values of the wrong type, and unknown keys.

/// Config files and the errors they give.
pub(crate) const CASES: [(&str, &str); 22] = [
    ("server = 1", "1:10: server is a whole number; expected a table"),
    ("[[server]]", "1:1: server is a list; expected a table"),
    ("store = \"memory:\"", "1:9: store is a string; expected a table"),
    ("policy = [\"gcra 1/s\"]", "1:10: policy is a list; expected a table"),
    ("[policy]\na = 5", "2:5: policy.a is a whole number; expected a table"),
    ("[policy]\na = [\"gcra 1/s\"]", "2:5: policy.a is a list; expected a table"),
    ("rule = 5", "1:8: rule is a whole number; expected a list of tables, each under [[rule]]"),
    (
        "[rule]\npolicy = \"a\"",
        "1:2: rule is a table; expected a list of tables, each under [[rule]]",
    ),
    ("rule = [5]", "1:9: an item of rule is a whole number; expected a table"),
    ("lists = true", "1:9: lists is a boolean; expected a table"),
    (
        "[polcy.a]",
        "1:2: unknown key polcy; expected server, store, policy, rule or lists (did you mean \
         \"policy\"?)",
    ),
    (
        "[Server]",
        "1:2: unknown key Server; expected server, store, policy, rule or lists (did you mean \
         \"server\"?)",
    ),
    ("[x]", "1:2: unknown key x; expected server, store, policy, rule or lists"),
    ("\"\" = 1", "1:1: unknown key \"\"; expected server, store, policy, rule or lists"),
    ("\"a b\" = 1", "1:1: unknown key \"a b\"; expected server, store, policy, rule or lists"),
    (
        "\"\\u001b[31m\" = 1",
        "1:1: unknown key \"\\u{1b}[31m\"; expected server, store, policy, rule or lists",
    ),
    (
        "server.htp = \"off\"",
        "1:8: unknown key server.htp; expected http, resp, grpc, threads, http_limits, \
         resp_limits, trusted_proxies, ipv6_prefix, tls or auth (did you mean \"http\"?)",
    ),
    (
        "[server.http]",
        "1:9: server.http is a table; expected an address with a port, such as 127.0.0.1:8080, \
         or off",
    ),
    (
        "[server]\nhttplimits = {}",
        "2:1: unknown key server.httplimits; expected http, resp, grpc, threads, http_limits, \
         resp_limits, trusted_proxies, ipv6_prefix, tls or auth (did you mean \"http_limits\"?)",
    ),
    (
        "[server.policy.a]",
        "1:9: unknown key server.policy; expected http, resp, grpc, threads, http_limits, \
         resp_limits, trusted_proxies, ipv6_prefix, tls or auth",
    ),
    ("[a.b.c]\nd = 1", "1:2: unknown key a; expected server, store, policy, rule or lists"),
    (
        "x = 1979-05-27\ny = 1.5",
        "1:1: unknown key x; expected server, store, policy, rule or lists\n2:1: unknown key y; \
         expected server, store, policy, rule or lists",
    ),
];
