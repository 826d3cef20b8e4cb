//! How much memory Redis needs for a key.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use support::operations::{Operation, apply_all, connect, policy};
use support::workers::print_line;
use tokio::runtime::Runtime;
use tollgate_core::Act;
use tollgate_fixtures::Server;

/// Paces that are written as one number: whole, with thirds of a tick, and in parts of a day.
const SMALL: [&str; 4] = [
    "gcra 30/min burst 1000",
    "gcra 30/s burst 100000",
    "gcra 500/day",
    "token-bucket 100/s burst 200000",
];
/// So much more than a counter of the same keys a state may take, in percent.
const MAX_PERCENT: u64 = 125;
/// Number of keys; a million with `TOLLGATE_LONG=1`.
const KEYS: u64 = 20_000;
const LONG_KEYS: u64 = 1_000_000;

fn keys() -> u64 {
    if std::env::var_os("TOLLGATE_LONG").is_some() { LONG_KEYS } else { KEYS }
}

/// Returns how many bytes the server uses.
fn used_memory(server: &Server) -> u64 {
    let info = server.cli(&["info", "memory"]);
    let used = info.lines().find_map(|line| line.trim().strip_prefix("used_memory:"));
    used.unwrap().parse().unwrap()
}

/// Returns how many bytes each of so many keys takes.
fn bytes_per_key(server: &Server, fill: impl FnOnce()) -> u64 {
    server.cli(&["flushall"]);
    let before = used_memory(server);
    fill();
    assert_eq!(server.cli(&["dbsize"]), keys().to_string());
    (used_memory(server) - before) / keys()
}

/// Sets a counter with an expiry at each key of 20 bytes.
fn set_counters(server: &Server) {
    let each = format!("for i = 1, {} do ", keys());
    let set = "redis.call('SET', string.format('%020d', i), '1', 'PX', 3600000) end";
    server.cli(&["eval", &(each + set), "0"]);
}

#[test]
fn a_key_takes_little_more_than_a_counter() {
    for server in [Server::redis(), Server::valkey()].into_iter().flatten() {
        let runtime = Runtime::new().unwrap();
        let store = runtime.block_on(connect(&server.url(), "tg"));
        let plain = bytes_per_key(&server, || set_counters(&server));
        for line in SMALL {
            let policy = policy("memory", &[line]);
            // All of it, so that no key expires before it is counted.
            let cost = policy.limits()[0].capacity().unwrap();
            let check = |key: u64| Operation::new(&policy, &format!("{key:020}"), Act::Check, cost);
            // The server keeps the script.
            let _ = runtime.block_on(apply_all(&store, &[check(0)]));
            let ours = bytes_per_key(&server, || {
                let all: Vec<u64> = (1..=keys()).collect();
                for some in all.chunks(1_000) {
                    let checks: Vec<_> = some.iter().map(|key| check(*key)).collect();
                    let results = runtime.block_on(apply_all(&store, &checks));
                    assert!(
                        results.iter().all(|result| result.as_ref().is_ok_and(|it| it.allowed))
                    );
                }
            });
            print_line(&format!("{line}: {ours} bytes; a counter: {plain}"));
            assert!(ours * 100 <= plain * MAX_PERCENT, "{line}: {ours} bytes, a counter {plain}");
        }
    }
}
