//! Passwords, and users who may not do everything.
//!
//! A user for rate limits needs no more than this (Redis 7, Valkey):
//!
//! ```text
//! ACL SETUSER limits on >PASSWORD resetkeys ~tg:* resetchannels -@all
//!     +eval +evalsha +get +psetex +del +pttl +pexpire +incr +time +ping
//! ```
//!
//! On a cluster also `+cluster|slots +asking`. `PING` is sent when a store is connected, not when it is
//! made. The prefix is the builder's.

use tollgate_core::Act;
use tollgate_fixtures::{Cluster, Flavour, Server};
use tollgate_redis::RedisStore;

use crate::client::{Answer, Client, told, unavailable};
use crate::plan::{Ask, Plan};

const COMMANDS: [&str; 10] =
    ["eval", "evalsha", "get", "psetex", "del", "pttl", "pexpire", "incr", "time", "ping"];

/// Lets a user do these commands and no others.
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

fn plan() -> Plan {
    Plan::one("gcra 1/day burst 10", "a")
}

fn acts(plan: &Plan) -> Vec<Ask<'_>> {
    Act::ALL.into_iter().flat_map(|act| with_and_without_id(plan, act)).collect()
}

fn with_and_without_id(plan: &Plan, act: Act) -> Vec<Ask<'_>> {
    let ask = plan.ask(act, 1);
    if act.needs_id() { vec![ask.id("some")] } else { vec![ask, ask.id("some")] }
}

/// Asks for everything there is, on one key after the other; the answers.
fn everything(client: &Client) -> Vec<Answer> {
    let one = plan();
    let lines = ["gcra 1/day burst 10", "concurrency 9 ttl 5min", "fixed-window 9/h"];
    let (more, fewer) = (Plan::new(&lines, &[("", "b")]), Plan::new(&lines[..1], &[("", "b")]));
    let all = [acts(&one), acts(&more), acts(&fewer), acts(&more)].concat();
    all.into_iter().map(|ask| client.ask(ask)).collect()
}

#[test]
fn a_user_who_may_do_only_what_is_needed() {
    for start in [Server::redis, Server::valkey] {
        let Some(server) = start() else { continue };
        allow(&server, &COMMANDS);
        let client = Client::connect(&url_of_user(&server));
        for answer in everything(&client) {
            answer.unwrap_or_else(|error| panic!("{}", told(&error)));
        }
    }
}

#[test]
fn each_command_is_needed() {
    let Some(server) = Server::redis() else { return };
    for missing in COMMANDS {
        server.cli(&["flushall"]);
        server.cli(&["script", "flush"]);
        let most: Vec<&str> = COMMANDS.into_iter().filter(|name| *name != missing).collect();
        allow(&server, &most);
        let connected = Client::try_connect(RedisStore::builder(&url_of_user(&server)));
        let errors: Vec<String> = match connected {
            Err(error) => vec![error],
            Ok(client) => {
                let errors = everything(&client).into_iter().filter_map(Result::err);
                errors.map(|error| unavailable(&error)).collect()
            }
        };
        assert!(!errors.is_empty(), "{missing} is not needed");
        for error in errors {
            let clear =
                error.contains("no permissions") || error.contains("can't run this command");
            assert!(clear, "{error}");
            assert!(!error.contains("user-secret"), "{error}");
        }
    }
}

#[test]
fn keys_that_a_user_may_not_have() {
    let Some(server) = Server::redis() else { return };
    allow(&server, &COMMANDS);
    let client = Client::make(RedisStore::builder(&url_of_user(&server)).prefix("other"));
    let error = unavailable(&client.ask(plan().check()).expect_err("a key of others"));
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
    for answer in everything(&client) {
        answer.unwrap_or_else(|error| panic!("{}", told(&error)));
    }
}

/// What a wrong or missing password is told: by `connect`, and by the first call of what was made.
fn refused(url: &str, why: &str) {
    let connecting = Client::try_connect(RedisStore::builder(url)).map(|_| ()).unwrap_err();
    let client = Client::make(RedisStore::builder(url));
    let calling = unavailable(&client.ask(plan().check()).expect_err("no way in"));
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
        refused(&url(""), "Authentication required");
        refused(&url(":guess@"), "authentication failed");
        refused(&url("someone:secret@"), "authentication failed");
        assert_eq!(Client::connect(&url(":secret@")).left(plan().check()), 9);
        assert_eq!(Client::connect(&url("default:secret@")).left(plan().check()), 8);
    }
}

#[test]
fn a_password_that_changes() {
    let builder = Server::builder(Flavour::Redis).arg("--requirepass", "secret");
    let Some(server) = builder.start() else { return };
    let (url, plan) = (format!("redis://:secret@127.0.0.1:{}", server.port()), plan());
    let client = Client::connect(&url);
    assert_eq!(client.left(plan.check()), 9);
    // The client of the fixture knows the old one, so that both are accepted for a moment.
    server.cli(&["acl", "setuser", "default", ">other", "<secret"]);
    let kill = ["-a", "other", "--no-auth-warning", "client", "kill", "type", "normal"];
    server.cli(&kill);
    let errors: Vec<String> = (0..3)
        .map(|_| unavailable(&client.ask(plan.check()).expect_err("another password")))
        .collect();
    assert!(errors.iter().any(|error| error.contains("authentication failed")), "{errors:?}");
    server.cli(&["-a", "other", "--no-auth-warning", "acl", "setuser", "default", ">secret"]);
    assert_eq!(client.ask_until_healed(plan.check()).0.remaining, Some(8));
}
