//! A server that neither replies nor closes its connections.

use std::thread;
use std::time::{Duration, Instant};

use tollgate_core::Act;
use tollgate_fixtures::Server;
use tollgate_redis::RedisStore;

use crate::client::{Client, assert_unavailable};
use crate::operations::KeyedPolicy;

/// The response timeout of these tests.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(200);
/// Maximum duration of a call: it connects again, which may take a second, and then the reply times out. The
/// rest is for a busy machine.
const MAX_CALL_TIME: Duration = Duration::from_secs(4);

fn policy() -> KeyedPolicy {
    KeyedPolicy::one("gcra 1/day burst 1000", "a")
}

/// Returns a client with the short timeout, which is connected, and whose server knows the script of a peek.
fn impatient(server: &Server) -> Client {
    let builder = RedisStore::builder(&server.url()).response_timeout(RESPONSE_TIMEOUT);
    let client = Client::build(builder);
    let _ = client.apply_until_healed(policy().peek());
    client
}

/// Asserts that a call ends in time with an error.
fn assert_ends_in_time(client: &Client, policy: &KeyedPolicy) {
    let start = Instant::now();
    assert_unavailable(client.apply(policy.check()), "timed out");
    assert!(start.elapsed() < MAX_CALL_TIME, "{:?}", start.elapsed());
}

#[test]
fn calls_end_and_heal() {
    for start in [Server::redis, Server::valkey] {
        let Some(server) = start() else { continue };
        let (client, counting) = (impatient(&server), Client::connect(&server.url()));
        let policy = policy();
        assert_eq!(counting.remaining(policy.check()), 999);
        server.pause();
        // On the open connection, and on new ones, which cannot be opened.
        for _ in 0..2 {
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| assert_ends_in_time(&client, &policy));
                }
            });
        }
        server.resume();
        let _ = client.apply_until_healed(policy.peek());
        // Calls without a reply may have been counted when the server resumed, but none twice.
        let left = counting.remaining(policy.check());
        assert!((999 - 17..999).contains(&left), "{left}");
        assert_eq!(counting.remaining(policy.check()), left - 1);
    }
}

#[test]
fn connecting_ends() {
    let Some(server) = Server::redis() else { return };
    server.pause();
    let start = Instant::now();
    let builder = RedisStore::builder(&server.url()).response_timeout(RESPONSE_TIMEOUT);
    let error = Client::try_connect(builder).map(|_| ()).unwrap_err();
    assert!(error.contains("timed out"), "{error}");
    assert!(start.elapsed() < MAX_CALL_TIME, "{:?}", start.elapsed());
}

/// The reply comes too late. A retry with the same id is counted once.
#[test]
fn an_id_makes_a_retry_safe() {
    let Some(server) = Server::redis() else { return };
    let (client, policy) = (impatient(&server), policy());
    server.pause();
    let check = policy.operation(Act::Check, 5).id("once");
    assert_unavailable(client.apply(check), "timed out");
    server.resume();
    assert_eq!(client.apply_until_healed(check).0.remaining, Some(995));
    assert_eq!(Client::connect(&server.url()).remaining(policy.peek()), 995);
}
