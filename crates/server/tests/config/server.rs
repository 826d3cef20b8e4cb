//! `[server]`.

/// Config files and the errors they give.
pub(crate) const CASES: [(&str, &str); 57] = [
    (
        "[server]\nhttp = \"localhost:8080\"",
        "2:8: server.http is \"localhost:8080\"; expected an address with a port, such as \
         127.0.0.1:8080, or off",
    ),
    (
        "[server]\nhttp = \"127.0.0.1\"",
        "2:8: server.http is \"127.0.0.1\"; expected an address with a port, such as \
         127.0.0.1:8080, or off",
    ),
    (
        "[server]\nhttp = \"\"",
        "2:8: server.http is \"\"; expected an address with a port, such as 127.0.0.1:8080, or \
         off",
    ),
    (
        "[server]\nhttp = \"Off\"",
        "2:8: server.http is \"Off\"; expected an address with a port, such as 127.0.0.1:8080, \
         or off",
    ),
    (
        "[server]\nhttp = false",
        "2:8: server.http is a boolean; expected an address with a port, such as \
         127.0.0.1:8080, or off",
    ),
    (
        "[server]\nresp = 6380",
        "2:8: server.resp is a whole number; expected an address with a port, such as \
         127.0.0.1:8080, or off",
    ),
    (
        "[server]\ngrpc = [\"127.0.0.1:8081\"]",
        "2:8: server.grpc is a list; expected an address with a port, such as 127.0.0.1:8080, \
         or off",
    ),
    (
        "[server]\nhttp = \"127.0.0.1:6380\"",
        "2:8: server.http is 127.0.0.1:6380; expected an address other than that of server.resp",
    ),
    (
        "[server]\nresp = \"127.0.0.1:9\"\nhttp = \"127.0.0.1:9\"",
        "3:8: server.http is 127.0.0.1:9; expected an address other than that of server.resp",
    ),
    (
        "[server]\ngrpc = \"127.0.0.1:8080\"",
        "2:8: server.grpc is 127.0.0.1:8080; expected an address other than that of server.http",
    ),
    ("[server]\nthreads = 0", "2:11: server.threads is 0; expected a whole number from 1 to 1024"),
    (
        "[server]\nthreads = 1025",
        "2:11: server.threads is 1025; expected a whole number from 1 to 1024",
    ),
    (
        "[server]\nthreads = -1",
        "2:11: server.threads is -1; expected a whole number from 1 to 1024",
    ),
    (
        "[server]\nthreads = \"two\"",
        "2:11: server.threads is a string; expected a whole number from 1 to 1024",
    ),
    (
        "[server]\nthreads = 1.0",
        "2:11: server.threads is a float; expected a whole number from 1 to 1024",
    ),
    (
        "[server]\nthreads = 99999999999999999999",
        "2:11: server.threads is 99999999999999999999; expected a whole number from 1 to 1024",
    ),
    (
        "[server]\ntrusted_proxies = \"10.0.0.0/8\"",
        "2:19: server.trusted_proxies is a string; expected a list of networks",
    ),
    (
        "[server]\ntrusted_proxies = [\"10.0.0.0/33\"]",
        "2:20: an item of server.trusted_proxies is \"10.0.0.0/33\"; expected an address, or a \
         network such as 10.0.0.0/8 or 2001:db8::/32",
    ),
    (
        "[server]\ntrusted_proxies = [10]",
        "2:20: an item of server.trusted_proxies is a whole number; expected an address, or a \
         network such as 10.0.0.0/8 or 2001:db8::/32",
    ),
    (
        "[server]\ntrusted_proxies = [\"proxy.example.org\"]",
        "2:20: an item of server.trusted_proxies is \"proxy.example.org\"; expected an address, \
         or a network such as 10.0.0.0/8 or 2001:db8::/32",
    ),
    (
        "[server]\nipv6_prefix = 31",
        "2:15: server.ipv6_prefix is 31; expected a whole number from 32 to 128",
    ),
    (
        "[server]\nipv6_prefix = 129",
        "2:15: server.ipv6_prefix is 129; expected a whole number from 32 to 128",
    ),
    (
        "[server]\nipv6_prefix = \"/64\"",
        "2:15: server.ipv6_prefix is a string; expected a whole number from 32 to 128",
    ),
    ("[server]\ntls = true", "2:7: server.tls is a boolean; expected a table"),
    ("[server.tls]\ncert = \"a.pem\"", "1:9: missing key server.tls.key"),
    (
        "[server.tls]\ncert = \"\"\nkey = 5",
        "2:8: server.tls.cert is empty; expected a file name\n3:7: server.tls.key is a whole \
         number; expected a file name",
    ),
    (
        "[server.tls]\ncert = \"a\"\nkey = \"b\"\nca = \"c\"",
        "4:1: unknown key server.tls.ca; expected cert, key or client_ca",
    ),
    ("[server]\nauth = \"secret\"", "2:8: server.auth is a string; expected a table"),
    (
        "[server.auth]\ntoken = \"secret\"",
        "2:1: unknown key server.auth.token; expected token_file or admin_token_file (did you \
         mean \"token_file\"?)",
    ),
    (
        "[server.auth]\ntoken_file = []",
        "2:14: server.auth.token_file is a list; expected a file name",
    ),
    ("[server]\nhttp_limits = 1", "2:15: server.http_limits is a whole number; expected a table"),
    ("[server]\nresp_limits = []", "2:15: server.resp_limits is a list; expected a table"),
    (
        "[server.http_limits]\nheaders = 129",
        "2:11: server.http_limits.headers is 129; expected a whole number from 1 to 128",
    ),
    (
        "[server.http_limits]\nheaders = 0",
        "2:11: server.http_limits.headers is 0; expected a whole number from 1 to 128",
    ),
    (
        "[server.http_limits]\nhead_bytes = 67108865",
        "2:14: server.http_limits.head_bytes is 67108865; expected a whole number from 1 to \
         67108864",
    ),
    (
        "[server.http_limits]\nbody_bytes = \"64k\"",
        "2:14: server.http_limits.body_bytes is a string; expected a whole number from 1 to \
         67108864",
    ),
    (
        "[server.http_limits]\nbatch = 1.5",
        "2:9: server.http_limits.batch is a float; expected a whole number from 1 to 1000000",
    ),
    (
        "[server.http_limits]\nbatch = -1",
        "2:9: server.http_limits.batch is -1; expected a whole number from 1 to 1000000",
    ),
    (
        "[server.http_limits]\nmax_pending_bytes = 0x4000001",
        "2:21: server.http_limits.max_pending_bytes is 0x4000001; expected a whole number from 1 to \
         67108864",
    ),
    (
        "[server.http_limits]\nstreams = 10001",
        "2:11: server.http_limits.streams is 10001; expected a whole number from 1 to 10000",
    ),
    (
        "[server.http_limits]\ntimeout = 5",
        "2:11: server.http_limits.timeout is a whole number; expected a duration in ms, s, min \
         or h, such as \"5s\", from 1ms to 1h",
    ),
    (
        "[server.http_limits]\ntimeout = \"5\"",
        "2:11: server.http_limits.timeout is \"5\"; expected a duration in ms, s, min or h, such \
         as \"5s\", from 1ms to 1h",
    ),
    (
        "[server.http_limits]\ntimeout = \"0ms\"",
        "2:11: server.http_limits.timeout is \"0ms\"; expected a duration in ms, s, min or h, \
         such as \"5s\", from 1ms to 1h",
    ),
    (
        "[server.http_limits]\ntimeout = \"61min\"",
        "2:11: server.http_limits.timeout is \"61min\"; expected a duration in ms, s, min or h, \
         such as \"5s\", from 1ms to 1h",
    ),
    (
        "[server.http_limits]\nidle = \"25h\"",
        "2:8: server.http_limits.idle is \"25h\"; expected a duration in ms, s, min or h, such \
         as \"5s\", from 1ms to 24h",
    ),
    (
        "[server.http_limits]\nidle = \"1 s\"",
        "2:8: server.http_limits.idle is \"1 s\"; expected a duration in ms, s, min or h, such \
         as \"5s\", from 1ms to 24h",
    ),
    (
        "[server.http_limits]\nconnections = 1_000_001",
        "2:15: server.http_limits.connections is 1_000_001; expected a whole number from 1 to \
         1000000",
    ),
    (
        "[server.http_limits]\narg_bytes = 1",
        "2:1: unknown key server.http_limits.arg_bytes; expected headers, head_bytes, \
         body_bytes, batch, max_pending_bytes, streams, timeout, idle, connections or \
         peer_connections (did you mean \"head_bytes\"?)",
    ),
    (
        "[server.resp_limits]\nargs = 0",
        "2:8: server.resp_limits.args is 0; expected a whole number from 1 to 1000000",
    ),
    (
        "[server.resp_limits]\narg_bytes = 0",
        "2:13: server.resp_limits.arg_bytes is 0; expected a whole number from 1 to 67108864",
    ),
    (
        "[server.resp_limits]\ncommand_bytes = true",
        "2:17: server.resp_limits.command_bytes is a boolean; expected a whole number from 1 to \
         67108864",
    ),
    (
        "[server.resp_limits]\ntransaction_bytes = 67108865",
        "2:21: server.resp_limits.transaction_bytes is 67108865; expected a whole number from 1 \
         to 67108864",
    ),
    (
        "[server.resp_limits]\npipeline = 1000001",
        "2:12: server.resp_limits.pipeline is 1000001; expected a whole number from 1 to 1000000",
    ),
    (
        "[server.resp_limits]\nmax_pending_bytes = 1e3",
        "2:21: server.resp_limits.max_pending_bytes is a float; expected a whole number from 1 \
         to 67108864",
    ),
    (
        "[server.resp_limits]\ntimeout = \"2h\"",
        "2:11: server.resp_limits.timeout is \"2h\"; expected a duration in ms, s, min or h, \
         such as \"5s\", from 1ms to 1h",
    ),
    (
        "[server.resp_limits]\nconnections = 0",
        "2:15: server.resp_limits.connections is 0; expected a whole number from 1 to 1000000",
    ),
    (
        "[server.resp_limits]\nheaders = 1",
        "2:1: unknown key server.resp_limits.headers; expected args, arg_bytes, command_bytes, \
         transaction_bytes, pipeline, max_pending_bytes, timeout, connections or \
         peer_connections",
    ),
];
