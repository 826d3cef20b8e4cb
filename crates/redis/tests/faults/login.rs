//! Passwords, and users with few permissions.
//!
//! A user for rate limits needs no more than this (Redis 7, Valkey):
//!
//! ```text
//! ACL SETUSER limits on >PASSWORD resetkeys ~tg:* resetchannels -@all
//!     +eval +evalsha +get +set +psetex +del +pttl +pexpire +hget +hset +hdel +time +ping
//! ```
//!
//! On a cluster also `+cluster|slots +asking`. `PING` is sent by `connect`, not by `build`. `tg` is the prefix.

use tollgate_core::Act;
use tollgate_fixtures::{Cluster, Flavour, Server};

use crate::client::{Client, OpResult, patient, unavailable};
use crate::errors::with_causes;
use crate::operations::{KeyedPolicy, Operation};

const COMMANDS: [&str; 13] = [
    "eval", "evalsha", "get", "set", "psetex", "del", "pttl", "pexpire", "hget", "hset", "hdel",
    "time", "ping",
];

/// Allows a user these commands and no others.
fn allow(server: &Server, commands: &[&str]) {
    let commands: Vec<String> = commands.iter().map(|command| format!("+{command}")).collect();
    let user = ["acl", "setuser", "limits", "reset", "on", ">user-secret", "~tg:*"];
    let commands = commands.iter().map(String::as_str);
    let words: Vec<&str> = user.into_iter().chain(commands).collect();
    assert_eq!(server.cli(&words), "OK");
}

fn url_of_user(server: &Server) -> String {
    format!("redis://limits:user-secret@127.0.0.1:{}", server.port())
}

fn policy() -> KeyedPolicy {
    KeyedPolicy::one("gcra 1/day burst 10", "a")
}

fn acts(policy: &KeyedPolicy) -> Vec<Operation<'_>> {
    Act::ALL.into_iter().flat_map(|act| with_and_without_id(policy, act)).collect()
}

fn with_and_without_id(policy: &KeyedPolicy, act: Act) -> Vec<Operation<'_>> {
    let operation = policy.operation(act, 1);
    let with_id = operation.id("some");
    if act.needs_id() { vec![with_id] } else { vec![operation, with_id] }
}

/// Applies every operation, on one key after the other.
fn apply_everything(client: &Client) -> Vec<OpResult> {
    let one = policy();
    let lines = ["gcra 1/day burst 10", "concurrency 9 ttl 5min", "fixed-window 9/h"];
    let (more, fewer) =
        (KeyedPolicy::new(&lines, &[("", "b")]), KeyedPolicy::new(&lines[..1], &[("", "b")]));
    let all = [acts(&one), acts(&more), acts(&fewer), acts(&more)].concat();
    let crowd = KeyedPolicy::one("concurrency 999 ttl 5min", "c");
    // So many leases that some of them are kept apart.
    let ids: Vec<String> = (0..150).map(|id| id.to_string()).collect();
    let crowded = ids.iter().map(|id| crowd.check().id(id));
    let renewal = crowd.operation(Act::Renew, 1).id("0");
    // The second check leaves it at when the key expires.
    let window = KeyedPolicy::one("request-window 9/h", "w");
    all.into_iter()
        .chain(crowded)
        .chain([renewal, window.check(), window.check()])
        .map(|operation| client.apply(operation))
        .collect()
}

#[test]
fn a_user_with_only_the_needed_commands() {
    for start in [Server::redis, Server::valkey] {
        let Some(server) = start() else { continue };
        allow(&server, &COMMANDS);
        let client = Client::connect(&url_of_user(&server));
        for result in apply_everything(&client) {
            let _ = result.unwrap_or_else(|error| panic!("{}", with_causes(&error)));
        }
    }
}

fn assert_no_permission(error: &str) {
    let clear = error.contains("no permissions") || error.contains("can't run this command");
    assert!(clear, "{error}");
}

#[test]
fn each_command_is_needed() {
    let Some(server) = Server::redis() else { return };
    for missing in COMMANDS {
        server.cli(&["flushall"]);
        server.cli(&["script", "flush"]);
        let others: Vec<&str> = COMMANDS.into_iter().filter(|name| *name != missing).collect();
        allow(&server, &others);
        let connected = Client::try_connect(patient(&url_of_user(&server)));
        let errors: Vec<String> = match connected {
            Err(error) => vec![error],
            Ok(client) => {
                let errors = apply_everything(&client).into_iter().filter_map(Result::err);
                errors.map(|error| unavailable(&error)).collect()
            }
        };
        assert!(!errors.is_empty(), "{missing} is not needed");
        for error in errors {
            assert_no_permission(&error);
            assert!(!error.contains("user-secret"), "{error}");
        }
    }
}

/// The key of a subject becomes a hash by a deletion and a new value: if the second fails, nothing may be lost.
#[test]
fn a_state_is_kept_where_a_hash_cannot_be_written() {
    let crowd = KeyedPolicy::one("concurrency 999 ttl 5min", "c");
    for (start, missing) in
        [(Server::redis as fn() -> _, "hset"), (Server::valkey, "hset"), (Server::redis, "pexpire")]
    {
        let Some(server) = start() else { continue };
        let others: Vec<&str> = COMMANDS.into_iter().filter(|name| *name != missing).collect();
        allow(&server, &others);
        let client = Client::connect(&url_of_user(&server));
        let mut taken = 0;
        let (values, error) = loop {
            let before = server.cli(&["keys", "tg:*"]);
            match client.apply(crowd.check()) {
                Ok(decision) => assert!(decision.allowed),
                Err(error) => break (before, error),
            }
            taken += 1;
            assert!(taken < 999, "{missing}: all leases are in one value");
        };
        assert_no_permission(&unavailable(&error));
        assert!(!values.is_empty(), "{missing}");
        // A reservation is kept apart from the first one on.
        let reservation = crowd.operation(Act::Reserve, 1).id("r");
        let error = unavailable(&client.apply(reservation).expect_err(missing));
        assert_no_permission(&error);
        let other = KeyedPolicy::one("gcra 1/day burst 10", "d");
        let _ = client.apply(other.operation(Act::Reserve, 1).id("r")).expect_err(missing);
        assert_eq!(server.cli(&["keys", "tg:*"]), values, "{missing}: what failed left a key");
        assert_eq!(server.cli(&["type", &values]), "string", "{missing}");
        let ttl: u64 = server.cli(&["ttl", &values]).parse().unwrap();
        assert!((200..=301).contains(&ttl), "{missing}: {ttl}");
        assert_eq!(client.remaining(crowd.operation(Act::Peek, 1)), 999 - taken, "{missing}");

        allow(&server, &COMMANDS);
        assert_eq!(client.remaining(crowd.check()), 998 - taken, "{missing}");
        assert_eq!(server.cli(&["type", &values]), "hash", "{missing}");
    }
}

#[test]
fn a_user_without_permission_for_the_keys() {
    let Some(server) = Server::redis() else { return };
    allow(&server, &COMMANDS);
    let client = Client::build(patient(&url_of_user(&server)).prefix("other"));
    let error = unavailable(&client.apply(policy().check()).expect_err("no permission"));
    assert!(error.contains("no permissions"), "{error}");
    assert_eq!(server.cli(&["dbsize"]), "0");
}

#[test]
fn a_user_of_a_cluster() {
    let Some(cluster) = Cluster::start() else { return };
    for node in cluster.nodes() {
        allow(node, &[&COMMANDS[..], &["cluster|slots", "asking"]].concat());
    }
    let url = cluster.url().replace("://", "://limits:user-secret@");
    let client = Client::connect(&url);
    for result in apply_everything(&client) {
        let _ = result.unwrap_or_else(|error| panic!("{}", with_causes(&error)));
    }
}

/// Asserts the error of a wrong or missing password: of `connect`, and of the first call after `build`.
fn assert_refused(url: &str, why: &str) {
    let connecting = Client::try_connect(patient(url)).map(|_| ()).unwrap_err();
    let client = Client::build(patient(url));
    let calling = unavailable(&client.apply(policy().check()).expect_err("refused"));
    for error in [connecting, calling] {
        assert!(error.contains(why), "{error}");
        assert!(!error.contains("secret") && !error.contains("guess"), "{error}");
    }
}

#[test]
fn wrong_and_missing_passwords() {
    for flavour in [Flavour::Redis, Flavour::Valkey] {
        let builder = Server::builder(flavour).arg("--requirepass", "secret");
        let Some(server) = builder.start() else { continue };
        let url = |login: &str| format!("redis://{login}127.0.0.1:{}", server.port());
        assert_refused(&url(""), "Authentication required");
        assert_refused(&url(":guess@"), "authentication failed");
        assert_refused(&url("someone:secret@"), "authentication failed");
        assert_eq!(Client::connect(&url(":secret@")).remaining(policy().check()), 9);
        assert_eq!(Client::connect(&url("default:secret@")).remaining(policy().check()), 8);
    }
}

#[test]
fn a_password_that_changes() {
    let builder = Server::builder(Flavour::Redis).arg("--requirepass", "secret");
    let Some(server) = builder.start() else { return };
    let (url, policy) = (format!("redis://:secret@127.0.0.1:{}", server.port()), policy());
    let client = Client::connect(&url);
    assert_eq!(client.remaining(policy.check()), 9);
    // The command-line client of the fixture uses the old password, so that both are accepted for a moment.
    server.cli(&["acl", "setuser", "default", ">other", "<secret"]);
    let kill = ["-a", "other", "--no-auth-warning", "client", "kill", "type", "normal"];
    server.cli(&kill);
    let errors: Vec<String> = (0..3)
        .map(|_| unavailable(&client.apply(policy.check()).expect_err("another password")))
        .collect();
    assert!(errors.iter().any(|error| error.contains("authentication failed")), "{errors:?}");
    server.cli(&["-a", "other", "--no-auth-warning", "acl", "setuser", "default", ">secret"]);
    assert_eq!(client.apply_until_healed(policy.check()).0.remaining, Some(8));
}
