//! What others have put under our keys is never taken for ours, and never touched.

use tollgate_core::Act;
use tollgate_fixtures::Server;

use crate::client::{Answer, Client, assert_unavailable};
use crate::plan::{Ask, Plan};

/// What is found under a key of ours: how it got there, how to see it, and what the error says.
const TABLE: &[(&[&str], &[&str], &str)] = &[
    (&["rpush", "KEY", "a", "b"], &["lrange", "KEY", "0", "-1"], "WRONGTYPE"),
    (&["hset", "KEY", "field", "value"], &["hgetall", "KEY"], "WRONGTYPE"),
    (&["zadd", "KEY", "1", "a"], &["zrange", "KEY", "0", "-1"], "WRONGTYPE"),
    (&["set", "KEY", "17"], &["get", "KEY"], "TGSTATE"),
    (&["set", "KEY", ""], &["get", "KEY"], "TGSTATE"),
    (&["set", "KEY", "\u{7f}of another version"], &["get", "KEY"], "TGSTATE"),
    // Our version, but cut off, or of a rule that there is not.
    (&["set", "KEY", "\u{1}\u{1}ab"], &["get", "KEY"], ""),
    (&["set", "KEY", "\u{1}\u{f}abcdefghijkl"], &["get", "KEY"], ""),
    (&["set", "KEY", "\u{1}\u{8}abcdefghijkl"], &["get", "KEY"], ""),
];

fn plan() -> Plan {
    Plan::one("gcra 1/day burst 10", "a")
}

/// Every operation, which must all fail.
fn all<'p>(plan: &'p Plan) -> Vec<Ask<'p>> {
    let ask = |act| {
        let ask: Ask<'p> = plan.ask(act, 1);
        [ask, ask.id("some")]
    };
    let acts = Act::ALL.into_iter().filter(|act| *act != Act::Reset);
    acts.flat_map(|act| ask(act).into_iter().skip(usize::from(act.needs_id()))).collect()
}

/// The only key there is whose name ends so.
fn key(server: &Server, end: &str) -> String {
    let keys = server.cli(&["keys", &format!("tg:{{*}}{end}")]);
    assert_eq!(keys.lines().count(), 1, "{keys:?}");
    keys
}

fn named<'a>(command: &[&'a str], key: &'a str) -> Vec<&'a str> {
    command.iter().map(|word| if *word == "KEY" { key } else { word }).collect()
}

fn holds_the_table(server: &Server, key: &str, asks: &[Ask<'_>], ask: impl Fn(Ask<'_>) -> Answer) {
    for (put, see, why) in TABLE {
        server.cli(&["del", key]);
        server.cli(&named(put, key));
        let (before, count) = (server.cli(&named(see, key)), server.cli(&["dbsize"]));
        for one in asks {
            assert_unavailable(ask(*one), why);
            assert_eq!(server.cli(&named(see, key)), before, "{put:?}: {one:?}");
        }
        assert_eq!(server.cli(&["dbsize"]), count);
        assert_eq!(server.cli(&["pttl", key]), "-1");
    }
}

#[test]
fn under_the_key_of_a_state() {
    let Some(server) = Server::redis() else { return };
    let (client, plan) = (Client::connect(&server.url()), plan());
    client.ask(plan.check()).unwrap();
    let key = key(&server, "");
    holds_the_table(&server, &key, &all(&plan), |ask| client.ask(ask));
    server.cli(&["del", &key]);
    assert_eq!(client.left(plan.check()), 9);
}

/// One of two subjects is foreign: the other is not charged.
#[test]
fn under_the_key_of_one_subject() {
    let Some(server) = Server::redis() else { return };
    let client = Client::connect(&server.url());
    let lines = ["gcra 1/day burst 10 per user", "gcra 1/day burst 10 per ip"];
    let keys = [("user", "a"), ("ip", "b")];
    let (both, other) = (Plan::new(&lines, &keys), Plan::new(&lines[..1], &keys));
    client.ask(Plan::new(&[lines[0]], &keys).check()).unwrap();
    let first = key(&server, "");
    client.ask(both.check()).unwrap();
    let found = server.cli(&["keys", "tg:{*}"]);
    let second = found.lines().find(|key| *key != first).unwrap().to_owned();
    holds_the_table(&server, &second, &[both.check(), both.ask(Act::Charge, 1)], |ask| {
        client.ask(ask)
    });
    assert_eq!(client.left(other.peek()), 8);
}

/// Also where answers are kept under ids.
#[test]
fn under_the_key_of_an_id() {
    let Some(server) = Server::redis() else { return };
    let (client, plan) = (Client::connect(&server.url()), plan());
    client.ask(plan.check().id("some")).unwrap();
    let key = key(&server, ":i*");
    let acts = [Act::Check, Act::Charge, Act::Refund, Act::Reserve, Act::Settle];
    let asks: Vec<Ask<'_>> = acts.map(|act| plan.ask(act, 1).id("some")).into();
    holds_the_table(&server, &key, &asks, |ask| client.ask(ask));
    assert_eq!(client.left(plan.peek()), 9);
}
