//! What clients choose cannot be read from the store, and a secret changes where it is kept.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use support::operations::{Operation, apply, connect, policy};
use tokio::runtime::Runtime;
use tollgate_core::Act;
use tollgate_fixtures::Server;
use tollgate_redis::RedisStore;

/// A key and an id that are easy to find in a dump.
const KEY: &str = "alice@example.com";
const ID: &str = "order-of-alice";

/// Every kind of state that is found by an id: leases, reservations, replies; and several subjects.
const POLICIES: [&[&str]; 4] = [
    &["gcra 5/min"],
    &["concurrency 5 ttl 1h"],
    &["sliding-log 5/h", "concurrency 8 ttl 1h"],
    &["gcra 5/min per ip", "concurrency 8 ttl 1h per user", "fixed-window 9/h per all"],
];

fn servers() -> impl Iterator<Item = Server> {
    [Server::redis(), Server::valkey()].into_iter().flatten()
}

/// Returns the names and the contents of all keys, as `redis-cli` prints them.
fn dump(server: &Server) -> (Vec<String>, String) {
    let names: Vec<String> = server.cli(&["KEYS", "*"]).lines().map(str::to_owned).collect();
    let values: String = names.iter().map(|name| server.cli(&["GET", name])).collect();
    (names, values)
}

async fn use_all(store: &RedisStore) {
    for lines in POLICIES {
        let policy = policy("private", lines);
        for (act, suffix) in [(Act::Check, "1"), (Act::Reserve, "2"), (Act::Charge, "3")] {
            let operation = Operation::new(&policy, KEY, act, 1).with_id(&format!("{ID}{suffix}"));
            assert!(apply(store, operation).await.allowed, "{lines:?} {act}");
        }
    }
}

#[test]
fn nothing_that_a_client_chose_can_be_read() {
    for server in servers() {
        let runtime = Runtime::new().unwrap();
        let store = runtime.block_on(connect(&server.url(), "tg"));
        runtime.block_on(use_all(&store));
        let (names, values) = dump(&server);
        assert!(names.len() > 4 && values.len() > 100, "{names:?}");
        let everything = names.concat() + &values;
        for chosen in [KEY, ID, "alice", "private"] {
            assert!(!everything.contains(chosen), "{chosen}: {everything:?}");
        }
    }
}

#[test]
fn stores_with_the_same_secret_count_together_and_others_do_not() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let policy = policy("secret", &["concurrency 3 ttl 1h"]);
    let build = |secret: Option<&[u8]>| {
        let builder = RedisStore::builder(&server.url());
        let builder = secret.map_or(builder.clone(), |secret| builder.hash_key(secret));
        runtime.block_on(builder.connect()).unwrap()
    };
    let stores = [build(None), build(Some(b"one secret")), build(Some(b"another secret"))];
    for store in &stores {
        let check = Operation::new(&policy, KEY, Act::Check, 2).with_id(ID);
        assert_eq!(runtime.block_on(apply(store, check)).remaining, Some(1));
    }
    let release = Operation::new(&policy, KEY, Act::Release, 1).with_id(ID);
    let released = runtime.block_on(apply(&build(Some(b"one secret")), release));
    assert!(released.allowed && released.remaining == Some(3));
    let remaining = stores.each_ref().map(|store| {
        runtime.block_on(apply(store, Operation::new(&policy, KEY, Act::Peek, 1))).remaining
    });
    assert_eq!(remaining, [Some(1), Some(3), Some(1)]);
}
