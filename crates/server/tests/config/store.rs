//! `[store]`.

/// Config files and the errors they give.
pub(crate) const CASES: [(&str, &str); 30] = [
    (
        "[store]\nurl = \"localhost:6379\"",
        "2:7: store.url: not the URL of a store: there is no scheme; expected redis://host:port, \
         rediss://host:port (TLS), redis+cluster://host:port,host:port or \
         redis+sentinel://host:port,host:port/name (rediss+cluster:// and rediss+sentinel:// \
         over TLS), or memory:",
    ),
    (
        "[store]\nurl = \"http://me:secret@localhost\"",
        "2:7: store.url: not the URL of a store: the scheme is \"http\"; expected \
         redis://host:port, rediss://host:port (TLS), redis+cluster://host:port,host:port or \
         redis+sentinel://host:port,host:port/name (rediss+cluster:// and rediss+sentinel:// \
         over TLS), or memory:",
    ),
    (
        "[store]\nurl = \"\"",
        "2:7: store.url: not the URL of a store: there is no scheme; expected redis://host:port, \
         rediss://host:port (TLS), redis+cluster://host:port,host:port or \
         redis+sentinel://host:port,host:port/name (rediss+cluster:// and rediss+sentinel:// \
         over TLS), or memory:",
    ),
    (
        "[store]\nurl = 6379",
        "2:7: store.url is a whole number; expected the URL of a store, such as memory: or \
         redis://host:port",
    ),
    (
        "[store]\nurl = \"redis+sentinel://:secret@a:1\"",
        "2:7: store.url: not the URL of a store: the name of the primary is missing after the \
         hosts; expected redis://host:port, rediss://host:port (TLS), \
         redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/name \
         (rediss+cluster:// and rediss+sentinel:// over TLS), or memory:",
    ),
    (
        "[store]\nurl = \"redis://:secret@localhost:99999\"",
        "2:7: store.url: not the URL of a store: it cannot be read; expected redis://host:port, \
         rediss://host:port (TLS), redis+cluster://host:port,host:port or \
         redis+sentinel://host:port,host:port/name (rediss+cluster:// and rediss+sentinel:// \
         over TLS), or memory:",
    ),
    (
        "[store]\nprefix = \"\"",
        "2:10: store.prefix is \"\"; expected 1 to 64 letters, digits, '-', '_', '.', ':' or '/'",
    ),
    (
        "[store]\nprefix = \"a{b}\"",
        "2:10: store.prefix is \"a{b}\"; expected 1 to 64 letters, digits, '-', '_', '.', ':' \
         or '/'",
    ),
    (
        "[store]\nprefix = 5",
        "2:10: store.prefix is a whole number; expected 1 to 64 letters, digits, '-', '_', '.', \
         ':' or '/'",
    ),
    (
        "[store]\nprefix = \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
        "2:10: store.prefix is \
         \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\"; expected 1 to 64 \
         letters, digits, '-', '_', '.', ':' or '/'",
    ),
    (
        "[store]\nmax_keys = 0",
        "2:12: store.max_keys is 0; expected a whole number from 1 to 4000000000",
    ),
    (
        "[store]\nmax_keys = 4_000_000_001",
        "2:12: store.max_keys is 4_000_000_001; expected a whole number from 1 to 4000000000",
    ),
    (
        "[store]\nmax_keys = \"many\"",
        "2:12: store.max_keys is a string; expected a whole number from 1 to 4000000000",
    ),
    (
        "[store]\nmax_memory = 1_073_741_824",
        "2:14: store.max_memory is a whole number; expected a size in KiB, MiB or GiB, such as \
         \"64MiB\", from 1MiB to 16TiB",
    ),
    (
        "[store]\nmax_memory = \"1GB\"",
        "2:14: store.max_memory is \"1GB\"; expected a size in KiB, MiB or GiB, such as \
         \"64MiB\", from 1MiB to 16TiB",
    ),
    (
        "[store]\nmax_memory = \"1023KiB\"",
        "2:14: store.max_memory is \"1023KiB\"; expected a size in KiB, MiB or GiB, such as \
         \"64MiB\", from 1MiB to 16TiB",
    ),
    (
        "[store]\nwhen_full = \"dney\"",
        "2:13: store.when_full is \"dney\"; expected deny or allow (did you mean \"deny\"?)",
    ),
    ("[store]\nwhen_full = true", "2:13: store.when_full is a boolean; expected deny or allow"),
    (
        "[store]\ntimeout = 20",
        "2:11: store.timeout is a whole number; expected a duration in ms, s, min or h, such as \
         \"5s\", from 1ms to 1min",
    ),
    (
        "[store]\ntimeout = \"20\"",
        "2:11: store.timeout is \"20\"; expected a duration in ms, s, min or h, such as \"5s\", \
         from 1ms to 1min",
    ),
    (
        "[store]\ntimeout = \"2min\"",
        "2:11: store.timeout is \"2min\"; expected a duration in ms, s, min or h, such as \
         \"5s\", from 1ms to 1min",
    ),
    ("[store]\nnodes = 0", "2:9: store.nodes is 0; expected a whole number from 1 to 10000"),
    (
        "[store]\nnodes = 10_001",
        "2:9: store.nodes is 10_001; expected a whole number from 1 to 10000",
    ),
    (
        "[store]\nnodes = \"3\"",
        "2:9: store.nodes is a string; expected a whole number from 1 to 10000",
    ),
    (
        "[store]\nlayer_memory = 67108864",
        "2:16: store.layer_memory is a whole number; expected a size in KiB, MiB or GiB, such as \
         \"64MiB\", from 1MiB to 1TiB",
    ),
    (
        "[store]\nlayer_memory = \"64MB\"",
        "2:16: store.layer_memory is \"64MB\"; expected a size in KiB, MiB or GiB, such as \
         \"64MiB\", from 1MiB to 1TiB",
    ),
    (
        "[store]\nlayer_memory = \"1023KiB\"",
        "2:16: store.layer_memory is \"1023KiB\"; expected a size in KiB, MiB or GiB, such as \
         \"64MiB\", from 1MiB to 1TiB",
    ),
    (
        "[store]\nlayer_memory = \"1025GiB\"",
        "2:16: store.layer_memory is \"1025GiB\"; expected a size in KiB, MiB or GiB, such as \
         \"64MiB\", from 1MiB to 1TiB",
    ),
    (
        "[store]\nmax_key = 1",
        "2:1: unknown key store.max_key; expected url, prefix, hash_key_file, max_keys, max_memory, when_full, \
         timeout, nodes or layer_memory (did you mean \"max_keys\"?)",
    ),
    (
        "[store]\nurl = \"redis://a:1\"\n[policy.a]\nlimits = [\"gcra 1/s\", \"gcra 1/s\", \
         \"gcra 1/s\", \"gcra 1/s\", \"gcra 1/s\", \"gcra 1/s\", \"gcra 1/s\", \"gcra 1/s\", \
         \"gcra 1/s\", \"gcra 1/s\", \"gcra 1/s\", \"gcra 1/s\", \"gcra 1/s\", \"gcra 1/s\", \
         \"gcra 1/s\", \"gcra 1/s\", \"gcra 1/s\"]",
        "4:10: policy.a.limits has 17 limits; expected at most 16 for a store other than memory:",
    ),
];
