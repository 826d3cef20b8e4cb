//! Servers that refuse to write, or to work at all.

use std::fs;
use std::thread;

use tollgate_core::Act;
use tollgate_fixtures::{Flavour, Server, wait_until};

use crate::client::{Client, HEALS, assert_unavailable};
use crate::plan::Plan;

fn set(server: &Server, name: &str, value: &str) {
    assert_eq!(server.cli(&["config", "set", name, value]), "OK", "{name} {value}");
}

fn plan() -> Plan {
    Plan::one("gcra 1/day burst 10", "a")
}

/// A limit for each of two subjects, so that one script has more than one thing to write.
fn two_subjects() -> Plan {
    let lines = ["gcra 1/day burst 10 per user", "fixed-window 20/year per ip"];
    Plan::new(&lines, &[("user", "a"), ("ip", "b")])
}

#[test]
fn a_replica_admits_nothing() {
    let (Some(primary), Some(replica)) = (Server::redis(), Server::redis()) else { return };
    set(&primary, "repl-diskless-sync-delay", "0");
    let (near, plan) = (Client::connect(&primary.url()), plan());
    assert_eq!(near.left(plan.check()), 9);
    replica.cli(&["replicaof", "127.0.0.1", &primary.port().to_string()]);
    let client = Client::connect(&replica.url());
    wait_until("the replica has a copy", HEALS, || client.left(plan.peek()) == 9);

    for _ in 0..3 {
        assert_unavailable(client.ask(plan.check()), "read only replica");
        assert_unavailable(client.ask(plan.check().id("i")), "read only replica");
        assert_unavailable(client.ask(plan.ask(Act::Charge, 1)), "read only replica");
    }
    assert_eq!((client.left(plan.peek()), near.left(plan.peek())), (9, 9));

    replica.cli(&["replicaof", "no", "one"]);
    assert_eq!(client.ask_until_healed(plan.check()).0.remaining, Some(8));
}

#[test]
fn without_memory_nothing_is_admitted() {
    for start in [Server::redis, Server::valkey] {
        let Some(server) = start() else { continue };
        let (client, plan) = (Client::connect(&server.url()), plan());
        let fresh = Plan::one("gcra 1/day burst 10", "fresh");
        assert_eq!(client.left(plan.check()), 9);
        set(&server, "maxmemory", "1");
        for plan in [&plan, &fresh] {
            assert_unavailable(client.ask(plan.check()), "used memory > 'maxmemory'");
            assert_unavailable(client.ask(plan.check().id("i")), "used memory > 'maxmemory'");
            assert_unavailable(client.ask(plan.ask(Act::Reserve, 1).id("r")), "OOM");
        }
        assert_eq!((client.left(plan.peek()), client.left(fresh.peek())), (9, 10));
        // A denial writes nothing, so it can be given.
        assert!(!client.ask(plan.ask(Act::Check, 11)).unwrap().allowed);

        set(&server, "maxmemory", "0");
        assert_eq!((client.left(plan.check()), client.left(fresh.check())), (8, 9));
    }
}

/// A script that writes twice does both or none: the limit, and what is known by an id.
#[test]
fn without_memory_nothing_is_half_done() {
    let Some(server) = Server::redis() else { return };
    let (client, plan) = (Client::connect(&server.url()), two_subjects());
    set(&server, "maxmemory", "1");
    let check = plan.ask(Act::Check, 2).id("i");
    assert_unavailable(client.ask(check), "OOM");
    assert_eq!(server.cli(&["dbsize"]), "0");

    set(&server, "maxmemory", "0");
    assert_eq!(client.left(check), 8);
    assert_eq!(client.left(check), 8);
    let keys = server.cli(&["dbsize"]);

    set(&server, "maxmemory", "1");
    assert_unavailable(client.ask(plan.ask(Act::Check, 2).id("j")), "OOM");
    assert_eq!(server.cli(&["dbsize"]), keys);
    // Whatever a reset says, it is true.
    let reset = client.ask(plan.ask(Act::Reset, 0));
    let known_to_be_done = reset.is_ok_and(|decision| decision.remaining == Some(10));
    set(&server, "maxmemory", "0");
    let expected = if known_to_be_done { 10 } else { 8 };
    assert_eq!(client.left(plan.peek()), expected);
    assert_eq!(client.left(check), 8);
}

#[test]
fn too_few_replicas() {
    let Some(server) = Server::redis() else { return };
    let (client, plan) = (Client::connect(&server.url()), plan());
    set(&server, "min-replicas-to-write", "1");
    assert_unavailable(client.ask(plan.check()), "NOREPLICAS");
    set(&server, "min-replicas-to-write", "0");
    assert_eq!(client.left(plan.check()), 9);
}

#[test]
fn a_disk_that_fails() {
    let Some(server) = Server::redis() else { return };
    let (client, plan) = (Client::connect(&server.url()), plan());
    set(&server, "save", "3600 1");
    // A folder in the place of the file: it cannot be written, whoever runs the server.
    fs::create_dir_all(server.folder().join("dump.rdb/full")).unwrap();
    server.cli(&["bgsave"]);
    let info = || server.cli(&["info", "persistence"]);
    wait_until("saving fails", HEALS, || info().contains("rdb_last_bgsave_status:err"));
    assert_unavailable(client.ask(plan.check()), "MISCONF");
    set(&server, "stop-writes-on-bgsave-error", "no");
    assert_eq!(client.left(plan.check()), 9);
}

#[test]
fn busy_with_another_script() {
    let Some(server) = Server::redis() else { return };
    let (client, plan) = (Client::connect(&server.url()), plan());
    assert_eq!(client.left(plan.check()), 9);
    set(&server, "busy-reply-threshold", "50");
    thread::scope(|scope| {
        scope.spawn(|| server.cli(&["eval", "while true do end", "0"]));
        wait_until("the server is busy", HEALS, || server.cli(&["ping"]).starts_with("BUSY"));
        assert_unavailable(client.ask(plan.check()), "busy");
        assert_eq!(server.cli(&["script", "kill"]), "OK");
    });
    assert_eq!(client.ask_until_healed(plan.check()).0.remaining, Some(8));
}

#[test]
fn a_server_that_is_loading() {
    let builder = Server::builder(Flavour::Redis);
    // A pause for each key that is loaded, and a look at clients after every few bytes.
    let builder = builder.arg("--loading-process-events-interval-bytes", "1024");
    let Some(server) = builder.arg("--key-load-delay", "300").start() else { return };
    let (client, plan) = (Client::connect(&server.url()), plan());
    assert_eq!(client.left(plan.check()), 9);
    let fill = "for i = 1, 5000 do redis.call('SET', 'other' .. i, i) end";
    server.cli(&["eval", fill, "0"]);
    assert_eq!(server.cli(&["save"]), "OK");
    let errors = thread::scope(|scope| {
        let restart = scope.spawn(|| server.restart());
        let mut errors = Vec::new();
        while !restart.is_finished() {
            let (decision, some) = client.ask_until_healed(plan.peek());
            assert_eq!(decision.remaining, Some(9));
            errors.extend(some);
        }
        errors
    });
    assert!(errors.iter().any(|error| error.contains("loading")), "{errors:?}");
    // The state was saved.
    assert_eq!(client.ask_until_healed(plan.check()).0.remaining, Some(8));
}
