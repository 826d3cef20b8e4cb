//! A server that neither answers nor hangs up.

use std::thread;
use std::time::{Duration, Instant};

use tollgate_core::Act;
use tollgate_fixtures::Server;
use tollgate_redis::RedisStore;

use crate::client::{Client, assert_unavailable};
use crate::plan::Plan;

/// How long an answer may take in these tests.
const DEADLINE: Duration = Duration::from_millis(200);
/// How long a call may take in the worst case: it connects anew, which may take a second, and then its
/// answer is late. The rest is for a busy machine.
const BOUND: Duration = Duration::from_secs(4);

fn plan() -> Plan {
    Plan::one("gcra 1/day burst 1000", "a")
}

/// Holds a call to end in time with an error.
fn ends_in_time(client: &Client, plan: &Plan) {
    let start = Instant::now();
    assert_unavailable(client.ask(plan.check()), "timed out");
    assert!(start.elapsed() < BOUND, "{:?}", start.elapsed());
}

#[test]
fn calls_end_and_heal() {
    for start in [Server::redis, Server::valkey] {
        let Some(server) = start() else { continue };
        let builder = RedisStore::builder(&server.url()).response_timeout(DEADLINE);
        let (client, plan) = (Client::try_connect(builder).unwrap(), plan());
        assert_eq!(client.left(plan.check()), 999);
        server.pause();
        // On the connection there was, and on those that cannot be made.
        for _ in 0..2 {
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| ends_in_time(&client, &plan));
                }
            });
        }
        server.resume();
        let (decision, _) = client.ask_until_healed(plan.check());
        // What got no answer may have been counted when the server went on, but nothing twice.
        let left = decision.remaining.unwrap();
        assert!((999 - 17..999).contains(&left), "{left}");
        assert_eq!(client.left(plan.check()), left - 1);
    }
}

#[test]
fn connecting_ends() {
    let Some(server) = Server::redis() else { return };
    server.pause();
    let start = Instant::now();
    let builder = RedisStore::builder(&server.url()).response_timeout(DEADLINE);
    let error = Client::try_connect(builder).map(|_| ()).unwrap_err();
    assert!(error.contains("timed out"), "{error}");
    assert!(start.elapsed() < BOUND, "{:?}", start.elapsed());
}

/// The answer came too late. Asked again with its id it is counted once.
#[test]
fn an_id_makes_it_safe_to_ask_again() {
    let Some(server) = Server::redis() else { return };
    let builder = RedisStore::builder(&server.url()).response_timeout(DEADLINE);
    let (client, plan) = (Client::try_connect(builder).unwrap(), plan());
    assert_eq!(client.left(plan.peek()), 1000);
    server.pause();
    let check = plan.ask(Act::Check, 5).id("once");
    assert_unavailable(client.ask(check), "timed out");
    server.resume();
    assert_eq!(client.ask_until_healed(check).0.remaining, Some(995));
    assert_eq!(client.left(plan.peek()), 995);
}
