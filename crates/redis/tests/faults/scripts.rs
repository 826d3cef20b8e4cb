//! Scripts that the server has forgotten.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use tollgate_core::{Act, PlainStore};
use tollgate_fixtures::Server;

use crate::client::{Client, HANGS, after_noon, plainly, said};
use crate::guards::StopAtEnd;
use crate::plan::{Ask, Plan};

/// How many make the server forget its scripts at the same time.
const FLUSHERS: usize = 4;

/// Makes the server forget its scripts, over and over until told to stop.
fn keep_flushing(server: &Server, stop: &AtomicBool) {
    let mut connection = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    connection.set_read_timeout(Some(HANGS)).unwrap();
    while !stop.load(Ordering::Relaxed) {
        connection.write_all(b"SCRIPT FLUSH\r\n").unwrap();
        let mut answer = [0; 5];
        connection.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"+OK\r\n");
    }
}

/// Does something while the server keeps forgetting its scripts.
fn while_flushing<T>(server: &Server, test: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..FLUSHERS {
            scope.spawn(|| keep_flushing(server, &stop));
        }
        let _stop_at_end = StopAtEnd(&stop);
        test()
    })
}

#[test]
fn forgotten_between_calls() {
    let Some(server) = Server::redis() else { return };
    let client = Client::connect(&server.url());
    let plan = Plan::one("gcra 1/day burst 10", "a");
    for left in (0..10).rev() {
        let decision = client.ask(plan.check()).unwrap();
        assert_eq!((decision.allowed, decision.remaining), (true, Some(left)));
        assert_eq!(server.cli(&["script", "flush"]), "OK");
    }
    assert!(!client.ask(plan.check()).unwrap().allowed);
}

#[test]
fn every_act_goes_on() {
    let Some(server) = Server::redis() else { return };
    let (client, near) = (Client::connect(&server.url()), PlainStore::default());
    let plan = Plan::one("concurrency 9 ttl 10min", "a");
    for act in Act::ALL {
        let ask = [plan.ask(act, 2).id("lease")];
        assert_eq!(server.cli(&["script", "flush"]), "OK");
        let at = after_noon(1);
        let theirs = said(&plainly(&near, &ask, at));
        assert_eq!(said(&client.ask_all(&ask, Some(at))), theirs, "{act}");
    }
}

#[test]
fn forgotten_amid_many_callers() {
    let Some(server) = Server::redis() else { return };
    let client = Client::connect(&server.url());
    let plan = Plan::one("gcra 1/day burst 500", "a");
    let admitted = AtomicUsize::new(0);
    while_flushing(&server, || {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..250 {
                        let allowed = client.ask(plan.check()).unwrap().allowed;
                        admitted.fetch_add(usize::from(allowed), Ordering::Relaxed);
                    }
                });
            }
        });
    });
    assert_eq!(admitted.into_inner(), 500);
}

const BATCHES: i64 = 100;

/// Operations on one key by several scripts: done in another order, they are answered otherwise.
fn batch(plan: &Plan) -> Vec<Ask<'_>> {
    use Act::{Charge, Check, Peek, Refund, Reserve, Reset, Settle};
    let acts = [Check, Charge, Peek, Refund, Check, Reserve, Charge, Settle, Check, Reset, Check];
    let costs = [1, 9, 1, 4, 3, 2, 1, 7, 2, 0, 2];
    let ask = |(act, cost): (Act, u64)| match act {
        Reserve | Settle => plan.ask(act, cost).id("r"),
        _ => plan.ask(act, cost),
    };
    // Again and again, of what no longer comes in full.
    (0..8).flat_map(|_| acts.into_iter().zip(costs).map(ask)).collect()
}

/// Each on a connection of its own: from one that is new the server reads less at a time, so that others
/// come in between.
fn batches_are_answered_as_in_memory(server: &Server, before: impl Fn()) {
    let near = PlainStore::default();
    let plan = Plan::one("gcra 1/min burst 10", "a");
    for time in 0..BATCHES {
        let client = Client::connect(&server.url());
        let (asks, at) = (batch(&plan), after_noon(time));
        before();
        let theirs = said(&plainly(&near, &asks, at));
        assert_eq!(said(&client.ask_all(&asks, Some(at))), theirs, "batch {time}");
    }
}

#[test]
fn a_batch_keeps_its_order_if_scripts_were_forgotten_before_it() {
    let Some(server) = Server::redis() else { return };
    let flush = || assert_eq!(server.cli(&["script", "flush"]), "OK");
    batches_are_answered_as_in_memory(&server, flush);
}

#[test]
fn a_batch_keeps_its_order_while_scripts_are_forgotten() {
    let Some(server) = Server::redis() else { return };
    while_flushing(&server, || batches_are_answered_as_in_memory(&server, || {}));
}
