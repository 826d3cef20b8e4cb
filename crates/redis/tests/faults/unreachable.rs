//! Servers that cannot be reached: restarted, killed, or not started yet.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_fixtures::{Server, wait_until};

use crate::client::{
    Client, HEAL_TIMEOUT, apply_unbounded, assert_unavailable, patient, unavailable,
};
use crate::guards::StopOnDrop;
use crate::operations::KeyedPolicy;

/// A limit that does not refill while a test runs.
fn policy() -> KeyedPolicy {
    KeyedPolicy::one("gcra 1/day burst 1000", "a")
}

#[test]
fn a_restart_heals() {
    for start in [Server::redis, Server::valkey] {
        let Some(server) = start() else { continue };
        let (client, policy) = (Client::connect(&server.url()), policy());
        for _ in 0..3 {
            assert!(client.apply(policy.check()).unwrap().allowed);
        }
        server.restart();
        let (decision, errors) = client.apply_until_healed(policy.check());
        // The call on the old connection got no reply, and nothing is sent twice.
        assert!(errors.len() <= 1, "{errors:?}");
        // The state was lost with the server; everything is counted from now on.
        assert_eq!(decision.remaining, Some(999));
        assert_eq!(client.remaining(policy.check()), 998);
    }
}

/// A connection that is not in use is pinged, so that no call has to find out that it is closed.
#[test]
fn a_restart_while_nothing_is_sent_goes_unnoticed() {
    /// Several pings. On a busy machine they may be late.
    const PAUSE: Duration = Duration::from_secs(3);
    const ATTEMPTS: usize = 5;
    let Some(server) = Server::redis() else { return };
    let (client, policy) = (Client::connect(&server.url()), policy());
    let _ = client.apply(policy.check()).unwrap();
    let is_unnoticed = |_| {
        server.restart();
        thread::sleep(PAUSE);
        client.apply_until_healed(policy.check()).1.is_empty()
    };
    assert!((0..ATTEMPTS).any(is_unnoticed));
}

#[test]
fn many_callers_heal_at_once() {
    let Some(server) = Server::redis() else { return };
    let (client, policy) = (Client::connect(&server.url()), policy());
    let _ = client.apply(policy.check()).unwrap();
    server.restart();
    let admitted = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let (_, errors) = client.apply_until_healed(policy.check());
                assert!(errors.len() <= 2, "{errors:?}");
                admitted.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    // Failed calls counted nothing: the old server was gone before they were sent.
    assert_eq!(client.remaining(policy.peek()), 1000 - 8);
}

#[test]
fn not_started_yet() {
    let Some(server) = Server::redis() else { return };
    server.stop();
    let refused = Client::try_connect(patient(&server.url())).map(|_| ()).unwrap_err();
    assert!(refused.contains("cannot be reached") && refused.contains("refused"), "{refused}");

    let (client, policy) = (Client::build(patient(&server.url())), policy());
    let start = Instant::now();
    for _ in 0..100 {
        assert_unavailable(client.apply(policy.check()), "refused");
    }
    assert!(start.elapsed() < HEAL_TIMEOUT, "a refused call takes {:?}", start.elapsed() / 100);
    server.restart();
    assert_eq!(client.apply_until_healed(policy.check()).0.remaining, Some(999));
}

#[test]
fn killed_while_calls_are_in_flight() {
    let Some(server) = Server::redis() else { return };
    let (client, policy) = (Client::connect(&server.url()), policy());
    let (succeeded, failed, stop) =
        (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    match client.apply(policy.check()) {
                        Ok(_) => succeeded.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            unavailable(&error);
                            failed.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                }
            });
        }
        let stop_on_drop = StopOnDrop(&stop);
        let more = |count: &AtomicUsize| {
            let before = count.load(Ordering::Relaxed);
            wait_until("more results", HEAL_TIMEOUT, || count.load(Ordering::Relaxed) > before + 8);
        };
        more(&succeeded);
        server.kill();
        more(&failed);
        server.restart();
        more(&succeeded);
        drop(stop_on_drop);
    });
    let _ = client.apply(policy.check()).unwrap();
}

/// A caller may drop the future at any moment.
#[test]
fn dropped_futures_leave_a_store_that_works() {
    let Some(server) = Server::redis() else { return };
    let (client, policy) = (Client::build(patient(&server.url())), policy());
    let drop_after = |wait: Duration| {
        client.runtime.block_on(async {
            let operations = [policy.check(), policy.check()];
            let applying = apply_unbounded(&client.store, &operations, None);
            tokio::time::timeout(wait, applying).await.is_err()
        })
    };
    let mut dropped = 0;
    for round in 0..200 {
        // Also while it connects, and while the script is sent.
        if round % 20 == 0 {
            server.cli(&["client", "kill", "type", "normal"]);
            server.cli(&["script", "flush"]);
        }
        dropped += u64::from(drop_after(Duration::from_micros(round * 5)));
    }
    assert!(dropped > 0, "none was dropped in time");
    let (decision, _) = client.apply_until_healed(policy.check());
    // Each was counted once or not at all.
    assert!(decision.remaining >= Some(1000 - 401), "{decision:?}");
    assert_eq!(client.remaining(policy.check()), decision.remaining.unwrap() - 1);
}
