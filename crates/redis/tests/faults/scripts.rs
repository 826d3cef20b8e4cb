//! Scripts that the server no longer knows.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use tollgate_core::{Act, PlainStore};
use tollgate_fixtures::Server;

use crate::client::{Client, HANG_TIMEOUT, apply_in_memory, at_second, to_text};
use crate::guards::StopOnDrop;
use crate::operations::{KeyedPolicy, Operation};

/// Number of connections that flush the scripts at the same time.
const FLUSHERS: usize = 4;

/// Flushes the server's scripts over and over, until stopped.
fn keep_flushing(server: &Server, stop: &AtomicBool) {
    let mut connection = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    connection.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
    while !stop.load(Ordering::Relaxed) {
        connection.write_all(b"SCRIPT FLUSH\r\n").unwrap();
        let mut reply = [0; 5];
        connection.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"+OK\r\n");
    }
}

/// Runs a test while the server's scripts are flushed over and over.
fn while_flushing<T>(server: &Server, test: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..FLUSHERS {
            scope.spawn(|| keep_flushing(server, &stop));
        }
        let _stop_on_drop = StopOnDrop(&stop);
        test()
    })
}

#[test]
fn flushed_between_calls() {
    let Some(server) = Server::redis() else { return };
    let client = Client::connect(&server.url());
    let policy = KeyedPolicy::one("gcra 1/day burst 10", "a");
    for left in (0..10).rev() {
        let decision = client.apply(policy.check()).unwrap();
        assert_eq!((decision.allowed, decision.remaining), (true, Some(left)));
        assert_eq!(server.cli(&["script", "flush"]), "OK");
    }
    assert!(!client.apply(policy.check()).unwrap().allowed);
}

#[test]
fn every_act_works_after_a_flush() {
    let Some(server) = Server::redis() else { return };
    let (client, memory) = (Client::connect(&server.url()), PlainStore::default());
    let policy = KeyedPolicy::one("concurrency 9 ttl 10min", "a");
    for act in Act::ALL {
        let operation = [policy.operation(act, 2).id("lease")];
        assert_eq!(server.cli(&["script", "flush"]), "OK");
        let at = at_second(1);
        let expected = to_text(&apply_in_memory(&memory, &operation, at));
        assert_eq!(to_text(&client.apply_all(&operation, Some(at))), expected, "{act}");
    }
}

#[test]
fn flushed_amid_many_callers() {
    let Some(server) = Server::redis() else { return };
    let client = Client::connect(&server.url());
    let policy = KeyedPolicy::one("gcra 1/day burst 500", "a");
    let admitted = AtomicUsize::new(0);
    while_flushing(&server, || {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..250 {
                        let allowed = client.apply(policy.check()).unwrap().allowed;
                        admitted.fetch_add(usize::from(allowed), Ordering::Relaxed);
                    }
                });
            }
        });
    });
    assert_eq!(admitted.into_inner(), 500);
}

const BATCHES: i64 = 100;

/// Returns operations on one key by several scripts. In another order their decisions would differ.
fn batch(policy: &KeyedPolicy) -> Vec<Operation<'_>> {
    use Act::{Charge, Check, Peek, Refund, Reserve, Reset, Settle};
    let acts = [Check, Charge, Peek, Refund, Check, Reserve, Charge, Settle, Check, Reset, Check];
    let costs = [1, 9, 1, 4, 3, 2, 1, 7, 2, 0, 2];
    let operation = |(act, cost): (Act, u64)| match act {
        Reserve | Settle => policy.operation(act, cost).id("r"),
        _ => policy.operation(act, cost),
    };
    // Repeated, so that most calls come without the script.
    (0..8).flat_map(|_| acts.into_iter().zip(costs).map(operation)).collect()
}

/// Compares batches with those in memory. Each has a connection of its own: from a new one the server reads
/// less at a time, so that other commands come in between.
fn batches_are_decided_as_in_memory(server: &Server, before: impl Fn()) {
    let memory = PlainStore::default();
    let policy = KeyedPolicy::one("gcra 1/min burst 10", "a");
    for time in 0..BATCHES {
        let client = Client::connect(&server.url());
        let (operations, at) = (batch(&policy), at_second(time));
        before();
        let expected = to_text(&apply_in_memory(&memory, &operations, at));
        assert_eq!(to_text(&client.apply_all(&operations, Some(at))), expected, "batch {time}");
    }
}

#[test]
fn a_batch_keeps_its_order_if_scripts_were_flushed_before() {
    let Some(server) = Server::redis() else { return };
    let flush = || assert_eq!(server.cli(&["script", "flush"]), "OK");
    batches_are_decided_as_in_memory(&server, flush);
}

#[test]
fn a_batch_keeps_its_order_while_scripts_are_flushed() {
    let Some(server) = Server::redis() else { return };
    while_flushing(&server, || batches_are_decided_as_in_memory(&server, || {}));
}
