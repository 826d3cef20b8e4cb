//! A store that is unavailable, and one that is full.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tollgate::{Clock, Decision, MemoryStore, Time};
use tollgate_core::{Apply, Op, Store, StoreError};
use tollgate_server::Server;

use crate::metrics::{decisions, samples};
use crate::policies;
use crate::support::Client;

const CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// A memory store that can be switched off.
pub(crate) struct SwitchableStore {
    pub(crate) memory: Arc<MemoryStore>,
    pub(crate) is_down: AtomicBool,
}

impl Store for SwitchableStore {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        if !self.is_down.load(Ordering::Relaxed) {
            return self.memory.apply(ops, at, out);
        }
        for result in out {
            *result = Err(StoreError::unavailable("the cable was cut"));
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
fn an_unavailable_store_is_an_error() {
    let memory = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
    let store = Arc::new(SwitchableStore { memory, is_down: AtomicBool::new(true) });
    let server = server(Arc::<SwitchableStore>::clone(&store));
    let client = &mut Client::http(&server);
    for response in [
        client.post("/v1/check", "{\"key\":\"a\"}"),
        client.get("/check?key=a&deny_status=403"),
        client.get("/readyz"),
    ] {
        assert_eq!(response.status, 503, "{response:?}");
        assert_eq!(response.header("content-type"), Some("application/problem+json"));
        assert_eq!(response.json()["type"], CAPACITY);
        assert!(response.json()["detail"].as_str().unwrap().contains("the cable was cut"));
    }
    let batch = "{\"checks\":[{\"key\":\"a\"},{\"key\":\"b\"}]}";
    let response = client.post("/v1/check/batch", batch);
    assert_eq!(response.status, 200);
    assert!((0..2).all(|index| response.json()["results"][index]["status"] == 503), "{response:?}");
    client.assert_healthy();
    let metrics = samples(client);
    assert_eq!(
        (metrics["tollgate_store_up"], metrics[&decisions("default", "failed")]),
        (0.0, 4.0)
    );
    store.is_down.store(false, Ordering::Relaxed);
    assert_eq!(client.get("/readyz").status, 200);
    assert_eq!(client.post("/v1/check", "{\"key\":\"a\"}").decision(), (true, Some(5), Some(4)));
    assert_eq!(samples(client)["tollgate_store_up"], 1.0);
}

/// A readiness check is not counted as an operation of `CL.THROTTLE`.
#[test]
fn a_readiness_check_is_not_a_decision() {
    let memory = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
    let server = server(Arc::new(SwitchableStore { memory, is_down: AtomicBool::new(true) }));
    let client = &mut Client::http(&server);
    client.get("/readyz");
    client.get("/readyz");
    let metrics = samples(client);
    let failed = metrics.iter().filter(|(name, _)| name.contains("outcome=\"failed\""));
    assert_eq!(failed.map(|(_, count)| count).sum::<f64>(), 0.0, "{metrics:#?}");
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
    let rejected = samples(client)["tollgate_keys_rejected_total"];
    assert_eq!(rejected, statuses.iter().filter(|status| **status == 429).count() as f64);
}
