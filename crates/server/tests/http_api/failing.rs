//! A store that does not answer, and one that is full.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tollgate::{Clock, Decision, MemoryStore, Time};
use tollgate_core::{Apply, Op, Store, StoreError};
use tollgate_server::Server;

use crate::metrics::{decisions, samples};
use crate::policies;
use crate::support::Client;

const CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// Memory that can be switched off.
struct Fickle {
    memory: Arc<MemoryStore>,
    is_down: AtomicBool,
}

impl Store for Fickle {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        if !self.is_down.load(Ordering::Relaxed) {
            return self.memory.apply(ops, at, out);
        }
        for place in out {
            *place = Err(StoreError::unavailable("the cable was cut"));
        }
        Apply::Ready
    }
}

fn server(store: Arc<dyn Store>) -> Server {
    let builder = Server::builder().store(store).http("127.0.0.1:0".parse().unwrap()).threads(1);
    let toml = "[policy.default]\nlimits = [\"gcra 1/s burst 5\"]";
    policies(toml)
        .into_iter()
        .fold(builder, tollgate_server::ServerBuilder::policy)
        .start()
        .unwrap()
}

#[test]
fn whoever_cannot_be_counted_is_told_so() {
    let memory = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
    let fickle = Arc::new(Fickle { memory, is_down: AtomicBool::new(true) });
    let server = server(Arc::<Fickle>::clone(&fickle));
    let client = &mut Client::http(&server);
    for answer in [
        client.post("/v1/check", "{\"key\":\"a\"}"),
        client.get("/check?key=a&deny_status=403"),
        client.get("/readyz"),
    ] {
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_eq!(answer.field("content-type"), Some("application/problem+json"));
        assert_eq!(answer.json()["type"], CAPACITY);
        assert!(answer.json()["detail"].as_str().unwrap().contains("the cable was cut"));
    }
    let batch = "{\"checks\":[{\"key\":\"a\"},{\"key\":\"b\"}]}";
    let answer = client.post("/v1/check/batch", batch);
    assert_eq!(answer.status, 200);
    assert!((0..2).all(|place| answer.json()["results"][place]["status"] == 503), "{answer:?}");
    client.is_healthy();
    let counted = samples(client);
    assert_eq!(
        (counted["tollgate_store_up"], counted[&decisions("default", "failed")]),
        (0.0, 4.0)
    );
    fickle.is_down.store(false, Ordering::Relaxed);
    assert_eq!(client.get("/readyz").status, 200);
    assert_eq!(client.post("/v1/check", "{\"key\":\"a\"}").told(), (true, Some(5), Some(4)));
    assert_eq!(samples(client)["tollgate_store_up"], 1.0);
}

/// Somebody asked whether it is ready: that is no operation of `CL.THROTTLE`.
#[test]
fn asking_whether_it_is_ready_is_no_decision() {
    let memory = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
    let server = server(Arc::new(Fickle { memory, is_down: AtomicBool::new(true) }));
    let client = &mut Client::http(&server);
    client.get("/readyz");
    client.get("/readyz");
    let counted = samples(client);
    let failed = counted.iter().filter(|(name, _)| name.contains("outcome=\"failed\""));
    assert_eq!(failed.map(|(_, count)| count).sum::<f64>(), 0.0, "{counted:#?}");
}

#[test]
fn a_full_store_denies_new_keys() {
    let memory = MemoryStore::builder().clock(Clock::manual()).max_keys(1).build().unwrap();
    let builder = Server::builder().memory(memory).http("127.0.0.1:0".parse().unwrap()).threads(1);
    let toml = "[policy.default]\nlimits = [\"gcra 1/s burst 5\"]";
    let server = policies(toml)
        .into_iter()
        .fold(builder, tollgate_server::ServerBuilder::policy)
        .start()
        .unwrap();
    let client = &mut Client::http(&server);
    let statuses: Vec<_> =
        (0..200).map(|key| client.get(&format!("/check?key={key}")).status).collect();
    assert!(statuses.contains(&429) && statuses.iter().all(|status| [200, 429].contains(status)));
    let turned_away = samples(client)["tollgate_keys_rejected_total"];
    assert_eq!(turned_away, statuses.iter().filter(|status| **status == 429).count() as f64);
}
