//! Values that others have put under our keys are never taken for ours, and never changed.

use tollgate_core::Act;
use tollgate_fixtures::Server;

use crate::client::{Client, OpResult, assert_damaged};
use crate::operations::{KeyedPolicy, Operation};

/// Foreign values: the command that sets one, the command that reads it, and what the error contains.
const TABLE: &[(&[&str], &[&str], &str)] = &[
    (&["rpush", "KEY", "a", "b"], &["lrange", "KEY", "0", "-1"], "WRONGTYPE"),
    (&["hset", "KEY", "field", "value"], &["hgetall", "KEY"], "WRONGTYPE"),
    (&["zadd", "KEY", "1", "a"], &["zrange", "KEY", "0", "-1"], "WRONGTYPE"),
    (&["set", "KEY", "17"], &["get", "KEY"], "TGSTATE"),
    (&["set", "KEY", ""], &["get", "KEY"], "TGSTATE"),
    // As long as a state that is a number, but of no pace.
    (&["set", "KEY", "1234567890123456"], &["get", "KEY"], "TGSTATE"),
    // More than 64 bits.
    (&["set", "KEY", "9223372036854775808"], &["get", "KEY"], "TGSTATE"),
    (&["set", "KEY", "-99999999999999999999"], &["get", "KEY"], "TGSTATE"),
    (&["set", "KEY", "1111111111111111111111111111111111111111"], &["get", "KEY"], "TGSTATE"),
    (&["set", "KEY", "-12345678901234.5e6"], &["get", "KEY"], "TGSTATE"),
    (&["set", "KEY", "\u{7f}of another version"], &["get", "KEY"], "TGSTATE"),
    // Our version, but truncated, or with an unknown rule.
    (&["set", "KEY", "\u{4}\u{1}ab"], &["get", "KEY"], ""),
    (&["set", "KEY", "\u{4}\u{f}abcdefghijkl"], &["get", "KEY"], ""),
    (&["set", "KEY", "\u{4}\u{8}abcdefghijkl"], &["get", "KEY"], ""),
];

/// What a release of another format has written, under its own name of the key.
const OLDER: (&str, &str) =
    ("tg:{NKFbrgJ4QAfqFdFAOCVrxg}", "\u{3}\u{1}of the third format: a gcra");

fn policy() -> KeyedPolicy {
    KeyedPolicy::one("gcra 1/day burst 10", "a")
}

/// Returns every operation; all must fail.
fn all<'p>(policy: &'p KeyedPolicy) -> Vec<Operation<'p>> {
    let both = |act| {
        let operation: Operation<'p> = policy.operation(act, 1);
        [operation, operation.id("some")]
    };
    let acts = Act::ALL.into_iter().filter(|act| *act != Act::Reset);
    acts.flat_map(|act| both(act).into_iter().skip(usize::from(act.needs_id()))).collect()
}

/// Returns the only key whose name ends like this.
fn key(server: &Server, end: &str) -> String {
    let keys = server.cli(&["keys", &format!("tg:{{*}}{end}")]);
    assert_eq!(keys.lines().count(), 1, "{keys:?}");
    keys
}

/// Puts the key into a command.
fn named<'a>(command: &[&'a str], key: &'a str) -> Vec<&'a str> {
    command.iter().map(|word| if *word == "KEY" { key } else { word }).collect()
}

/// Asserts for each foreign value that all operations fail and leave it as it is.
fn assert_untouched(
    server: &Server,
    key: &str,
    operations: &[Operation<'_>],
    apply: impl Fn(Operation<'_>) -> OpResult,
) {
    for (set, get, why) in TABLE {
        server.cli(&["del", key]);
        server.cli(&named(set, key));
        let (before, count) = (server.cli(&named(get, key)), server.cli(&["dbsize"]));
        for one in operations {
            assert_damaged(apply(*one), why);
            assert_eq!(server.cli(&named(get, key)), before, "{set:?}: {one:?}");
        }
        assert_eq!(server.cli(&["dbsize"]), count);
        assert_eq!(server.cli(&["pttl", key]), "-1");
    }
}

/// A reset need not read what it forgets.
#[test]
fn a_reset_forgets_a_foreign_value() {
    let servers = [Server::redis(), Server::valkey()];
    for server in servers.into_iter().flatten() {
        let (client, policy) = (Client::connect(&server.url()), policy());
        let _ = client.apply(policy.check()).unwrap();
        let key = key(&server, "");
        for (set, _, _) in TABLE {
            for reset in [policy.operation(Act::Reset, 1), policy.operation(Act::Reset, 1).id("r")]
            {
                server.cli(&["del", &key]);
                server.cli(&named(set, &key));
                assert_eq!(client.remaining(reset), 10, "{set:?}");
                assert_eq!(client.remaining(policy.check()), 9, "{set:?}");
            }
        }
    }
}

/// Neither under the key of its own id, nor where the generation of all ids is kept.
#[test]
fn a_reset_forgets_a_foreign_value_beside_the_state() {
    let servers = [Server::redis(), Server::valkey()];
    for server in servers.into_iter().flatten() {
        let (client, policy) = (Client::connect(&server.url()), policy());
        let reset = policy.operation(Act::Reset, 1);
        let one = policy.check().id("some");
        let _ = client.apply(policy.check()).unwrap();
        let _ = client.apply(reset.id("r")).unwrap();
        let (generation, id) = (key(&server, ":g"), key(&server, ":i*"));
        for (set, _, _) in TABLE {
            for (key, reset) in
                [(&generation, reset), (&generation, reset.id("r")), (&id, reset.id("r"))]
            {
                server.cli(&["del", key]);
                server.cli(&named(set, key));
                assert_eq!(client.remaining(reset), 10, "{set:?}");
                assert_eq!(client.remaining(one), 9, "{set:?}");
                assert_eq!(client.remaining(one), 9, "{set:?}: it is remembered");
                // What was done before it is not.
                assert_eq!(client.remaining(policy.operation(Act::Reset, 1)), 10, "{set:?}");
                assert_eq!(client.remaining(one), 9, "{set:?}");
                assert_eq!(client.remaining(policy.check()), 8, "{set:?}");
            }
        }
    }
}

#[test]
fn foreign_value_under_the_key_of_a_state() {
    let Some(server) = Server::redis() else { return };
    let (client, policy) = (Client::connect(&server.url()), policy());
    let _ = client.apply(policy.check()).unwrap();
    let key = key(&server, "");
    assert_untouched(&server, &key, &all(&policy), |operation| client.apply(operation));
    server.cli(&["del", &key]);
    assert_eq!(client.remaining(policy.check()), 9);
}

/// The value of one of two subjects is foreign: the other is not charged.
#[test]
fn foreign_value_under_the_key_of_one_subject() {
    let Some(server) = Server::redis() else { return };
    let client = Client::connect(&server.url());
    let lines = ["gcra 1/day burst 10 per user", "gcra 1/day burst 10 per ip"];
    let keys = [("user", "a"), ("ip", "b")];
    let (both, other) = (KeyedPolicy::new(&lines, &keys), KeyedPolicy::new(&lines[..1], &keys));
    let _ = client.apply(KeyedPolicy::new(&[lines[0]], &keys).check()).unwrap();
    let first = key(&server, "");
    let _ = client.apply(both.check()).unwrap();
    let found = server.cli(&["keys", "tg:{*}"]);
    let second = found.lines().find(|key| *key != first).unwrap().to_owned();
    assert_untouched(
        &server,
        &second,
        &[both.check(), both.operation(Act::Charge, 1)],
        |operation| client.apply(operation),
    );
    assert_eq!(client.remaining(other.peek()), 8);
}

#[test]
fn foreign_value_under_the_key_of_an_id() {
    let Some(server) = Server::redis() else { return };
    let (client, policy) = (Client::connect(&server.url()), policy());
    let _ = client.apply(policy.check().id("some")).unwrap();
    let key = key(&server, ":i*");
    let acts = [Act::Check, Act::Charge, Act::Refund, Act::Reserve, Act::Settle];
    let operations: Vec<Operation<'_>> = acts.map(|act| policy.operation(act, 1).id("some")).into();
    assert_untouched(&server, &key, &operations, |operation| client.apply(operation));
    assert_eq!(client.remaining(policy.peek()), 9);
}

/// While servers are replaced, the old ones go on with their states, and the new ones have states of their own.
#[test]
fn states_of_an_older_format_are_left_alone() {
    let Some(server) = Server::redis() else { return };
    let (client, policy) = (Client::connect(&server.url()), policy());
    let (key, value) = OLDER;
    server.cli(&["set", key, value]);
    assert_eq!(client.remaining(policy.check()), 9);
    for act in Act::ALL {
        let _ = client.apply(policy.operation(act, 1).id("some"));
    }
    assert_eq!(server.cli(&["get", key]), value);
}
