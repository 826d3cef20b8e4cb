//! Servers that are not there: restarted, killed, or not started yet.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_fixtures::{Server, wait_until};
use tollgate_redis::RedisStore;

use crate::client::{Client, HEALS, answers_if_any, assert_unavailable, unavailable};
use crate::guards::StopAtEnd;
use crate::plan::Plan;

/// A limit that does not refill while a test runs.
fn plan() -> Plan {
    Plan::one("gcra 1/day burst 1000", "a")
}

#[test]
fn a_restart_heals() {
    for start in [Server::redis, Server::valkey] {
        let Some(server) = start() else { continue };
        let (client, plan) = (Client::connect(&server.url()), plan());
        for _ in 0..3 {
            assert!(client.ask(plan.check()).unwrap().allowed);
        }
        server.restart();
        let (decision, errors) = client.ask_until_healed(plan.check());
        // What was sent on the old connection got no answer, and nothing is sent twice.
        assert!(errors.len() <= 1, "{errors:?}");
        // The state went with the server; all is counted from now on.
        assert_eq!(decision.remaining, Some(999));
        assert_eq!(client.left(plan.check()), 998);
    }
}

#[test]
fn many_callers_heal_at_once() {
    let Some(server) = Server::redis() else { return };
    let (client, plan) = (Client::connect(&server.url()), plan());
    client.ask(plan.check()).unwrap();
    server.restart();
    let admitted = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let (_, errors) = client.ask_until_healed(plan.check());
                assert!(errors.len() <= 2, "{errors:?}");
                admitted.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    // Those that got no answer had nothing counted: the old server was gone before they asked.
    assert_eq!(client.left(plan.peek()), 1000 - 8);
}

#[test]
fn nobody_listens_yet() {
    let Some(server) = Server::redis() else { return };
    server.stop();
    let refused = Client::try_connect(RedisStore::builder(&server.url())).map(|_| ()).unwrap_err();
    assert!(refused.contains("cannot be reached") && refused.contains("refused"), "{refused}");

    let (client, plan) = (Client::make(RedisStore::builder(&server.url())), plan());
    let start = Instant::now();
    for _ in 0..100 {
        assert_unavailable(client.ask(plan.check()), "refused");
    }
    assert!(start.elapsed() < HEALS, "a refused call takes {:?}", start.elapsed() / 100);
    server.restart();
    assert_eq!(client.ask_until_healed(plan.check()).0.remaining, Some(999));
}

#[test]
fn killed_while_calls_are_in_flight() {
    let Some(server) = Server::redis() else { return };
    let (client, plan) = (Client::connect(&server.url()), plan());
    let (answered, failed, stop) =
        (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    match client.ask(plan.check()) {
                        Ok(_) => answered.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            unavailable(&error);
                            failed.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                }
            });
        }
        let stop_at_end = StopAtEnd(&stop);
        let more = |count: &AtomicUsize| {
            let before = count.load(Ordering::Relaxed);
            wait_until("more answers", HEALS, || count.load(Ordering::Relaxed) > before + 8);
        };
        more(&answered);
        server.kill();
        more(&failed);
        server.restart();
        more(&answered);
        drop(stop_at_end);
    });
    client.ask(plan.check()).unwrap();
}

/// Whoever no longer wants the answer drops the future, at any moment.
#[test]
fn dropped_futures_leave_a_store_that_works() {
    let Some(server) = Server::redis() else { return };
    let (client, plan) = (Client::make(RedisStore::builder(&server.url())), plan());
    let give_up_after = |wait: Duration| {
        client.runtime.block_on(async {
            let asks = [plan.check(), plan.check()];
            let answering = answers_if_any(&client.store, &asks, None);
            tokio::time::timeout(wait, answering).await.is_err()
        })
    };
    let mut dropped = 0;
    for turn in 0..200 {
        // Also while it connects, and while the script is sent in full.
        if turn % 20 == 0 {
            server.cli(&["client", "kill", "type", "normal"]);
            server.cli(&["script", "flush"]);
        }
        dropped += u64::from(give_up_after(Duration::from_micros(turn * 5)));
    }
    assert!(dropped > 0, "none was dropped in time");
    let (decision, _) = client.ask_until_healed(plan.check());
    // Each was counted once or not at all.
    assert!(decision.remaining >= Some(1000 - 401), "{decision:?}");
    assert_eq!(client.left(plan.check()), decision.remaining.unwrap() - 1);
}
