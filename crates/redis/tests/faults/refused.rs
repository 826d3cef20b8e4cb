//! Servers that reject writes or all commands.

use std::fs;
use std::thread;

use tollgate_core::Act;
use tollgate_fixtures::{Flavour, Server, wait_until};

use crate::client::{Client, HEAL_TIMEOUT, assert_unavailable};
use crate::operations::KeyedPolicy;

fn set(server: &Server, name: &str, value: &str) {
    assert_eq!(server.cli(&["config", "set", name, value]), "OK", "{name} {value}");
}

fn policy() -> KeyedPolicy {
    KeyedPolicy::one("gcra 1/day burst 10", "a")
}

/// Returns a policy with a limit for each of two subjects, so that one script writes two keys.
fn two_subjects() -> KeyedPolicy {
    let lines = ["gcra 1/day burst 10 per user", "fixed-window 20/year per ip"];
    KeyedPolicy::new(&lines, &[("user", "a"), ("ip", "b")])
}

#[test]
fn a_replica_admits_nothing() {
    let (Some(primary), Some(replica)) = (Server::redis(), Server::redis()) else { return };
    set(&primary, "repl-diskless-sync-delay", "0");
    let (on_primary, policy) = (Client::connect(&primary.url()), policy());
    assert_eq!(on_primary.remaining(policy.check()), 9);
    replica.cli(&["replicaof", "127.0.0.1", &primary.port().to_string()]);
    let client = Client::connect(&replica.url());
    wait_until("the replica has a copy", HEAL_TIMEOUT, || client.remaining(policy.peek()) == 9);

    for _ in 0..3 {
        assert_unavailable(client.apply(policy.check()), "read only replica");
        assert_unavailable(client.apply(policy.check().id("i")), "read only replica");
        assert_unavailable(client.apply(policy.operation(Act::Charge, 1)), "read only replica");
    }
    assert_eq!((client.remaining(policy.peek()), on_primary.remaining(policy.peek())), (9, 9));

    replica.cli(&["replicaof", "no", "one"]);
    assert_eq!(client.apply_until_healed(policy.check()).0.remaining, Some(8));
}

#[test]
fn without_memory_nothing_is_admitted() {
    for start in [Server::redis, Server::valkey] {
        let Some(server) = start() else { continue };
        let (client, policy) = (Client::connect(&server.url()), policy());
        let fresh = KeyedPolicy::one("gcra 1/day burst 10", "fresh");
        assert_eq!(client.remaining(policy.check()), 9);
        set(&server, "maxmemory", "1");
        for policy in [&policy, &fresh] {
            assert_unavailable(client.apply(policy.check()), "used memory > 'maxmemory'");
            assert_unavailable(client.apply(policy.check().id("i")), "used memory > 'maxmemory'");
            assert_unavailable(client.apply(policy.operation(Act::Reserve, 1).id("r")), "OOM");
        }
        assert_eq!((client.remaining(policy.peek()), client.remaining(fresh.peek())), (9, 10));
        // A denial writes nothing, so that it is still possible.
        assert!(!client.apply(policy.operation(Act::Check, 11)).unwrap().allowed);

        set(&server, "maxmemory", "0");
        assert_eq!((client.remaining(policy.check()), client.remaining(fresh.check())), (8, 9));
    }
}

/// A script that writes twice does both or nothing: the state, and the reply kept under an id.
#[test]
fn without_memory_nothing_is_half_done() {
    let Some(server) = Server::redis() else { return };
    let (client, policy) = (Client::connect(&server.url()), two_subjects());
    set(&server, "maxmemory", "1");
    let check = policy.operation(Act::Check, 2).id("i");
    assert_unavailable(client.apply(check), "OOM");
    assert_eq!(server.cli(&["dbsize"]), "0");

    set(&server, "maxmemory", "0");
    assert_eq!(client.remaining(check), 8);
    assert_eq!(client.remaining(check), 8);
    let keys = server.cli(&["dbsize"]);

    set(&server, "maxmemory", "1");
    assert_unavailable(client.apply(policy.operation(Act::Check, 2).id("j")), "OOM");
    assert_eq!(server.cli(&["dbsize"]), keys);
    // A reset either fails or has been done.
    let reset = client.apply(policy.operation(Act::Reset, 0));
    let was_reset = reset.is_ok_and(|decision| decision.remaining == Some(10));
    set(&server, "maxmemory", "0");
    let expected = if was_reset { 10 } else { 8 };
    assert_eq!(client.remaining(policy.peek()), expected);
    assert_eq!(client.remaining(check), 8);
}

#[test]
fn too_few_replicas() {
    let Some(server) = Server::redis() else { return };
    let (client, policy) = (Client::connect(&server.url()), policy());
    set(&server, "min-replicas-to-write", "1");
    assert_unavailable(client.apply(policy.check()), "NOREPLICAS");
    set(&server, "min-replicas-to-write", "0");
    assert_eq!(client.remaining(policy.check()), 9);
}

#[test]
fn a_failing_disk() {
    let Some(server) = Server::redis() else { return };
    let (client, policy) = (Client::connect(&server.url()), policy());
    set(&server, "save", "3600 1");
    // A folder in place of the file: it cannot be written, whatever user runs the server.
    fs::create_dir_all(server.folder().join("dump.rdb/full")).unwrap();
    server.cli(&["bgsave"]);
    let info = || server.cli(&["info", "persistence"]);
    wait_until("saving fails", HEAL_TIMEOUT, || info().contains("rdb_last_bgsave_status:err"));
    assert_unavailable(client.apply(policy.check()), "MISCONF");
    set(&server, "stop-writes-on-bgsave-error", "no");
    assert_eq!(client.remaining(policy.check()), 9);
}

#[test]
fn busy_with_another_script() {
    let Some(server) = Server::redis() else { return };
    let (client, policy) = (Client::connect(&server.url()), policy());
    assert_eq!(client.remaining(policy.check()), 9);
    set(&server, "busy-reply-threshold", "50");
    thread::scope(|scope| {
        scope.spawn(|| server.cli(&["eval", "while true do end", "0"]));
        wait_until("the server is busy", HEAL_TIMEOUT, || {
            server.cli(&["ping"]).starts_with("BUSY")
        });
        assert_unavailable(client.apply(policy.check()), "busy");
        assert_eq!(server.cli(&["script", "kill"]), "OK");
    });
    assert_eq!(client.apply_until_healed(policy.check()).0.remaining, Some(8));
}

#[test]
fn a_loading_server() {
    let builder = Server::builder(Flavour::Redis);
    // Pauses after each loaded key, and serves clients after every few bytes.
    let builder = builder.arg("--loading-process-events-interval-bytes", "1024");
    let Some(server) = builder.arg("--key-load-delay", "300").start() else { return };
    let (client, policy) = (Client::connect(&server.url()), policy());
    assert_eq!(client.remaining(policy.check()), 9);
    let fill = "for i = 1, 5000 do redis.call('SET', 'other' .. i, i) end";
    server.cli(&["eval", fill, "0"]);
    assert_eq!(server.cli(&["save"]), "OK");
    let errors = thread::scope(|scope| {
        let restart = scope.spawn(|| server.restart());
        let mut errors = Vec::new();
        while !restart.is_finished() {
            let (decision, some) = client.apply_until_healed(policy.peek());
            assert_eq!(decision.remaining, Some(9));
            errors.extend(some);
        }
        errors
    });
    assert!(errors.iter().any(|error| error.contains("loading")), "{errors:?}");
    // The state was saved.
    assert_eq!(client.apply_until_healed(policy.check()).0.remaining, Some(8));
}
