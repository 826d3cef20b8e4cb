//! Layers around a store keep its contract: they answer as the store alone would.

#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use support::lasting_store;
use tokio::runtime::Runtime;
use tollgate::Store;
use tollgate::layers::{LayeredStore, Layers};
use tollgate_core::contract::Suite;

/// Longer than any call takes: what fails is the contract, not the time.
const TIMEOUT: Duration = Duration::from_secs(5);

fn layers() -> Layers {
    Layers::new().timeout(TIMEOUT)
}

/// Returns how many random cases there are for each law and algorithm.
fn cases(variable: &str, default: u32) -> u32 {
    std::env::var(variable).ok().and_then(|cases| cases.parse().ok()).unwrap_or(default)
}

fn run_suite(store: &dyn Store, cases: u32, runtime: &Runtime) {
    Suite::new(store).block_on(|pending| runtime.block_on(pending)).cases(cases).run_all();
}

/// Runs the suite, and asserts that no answer is the failure mode's.
fn assert_contract(store: &LayeredStore, cases: u32, runtime: &Runtime) {
    run_suite(store, cases, runtime);
    assert_eq!(store.stats().failures, 0);
}

#[test]
fn layers_around_memory_keep_the_contract() {
    let runtime = Runtime::new().unwrap();
    let layered = layers().around(lasting_store() as Arc<dyn Store>);
    assert_contract(&layered, cases("TOLLGATE_CASES", 32), &runtime);
    assert!(layered.stats().denied_by_cache > 0, "the suite asks denied keys again");
}

#[cfg(feature = "redis")]
mod remote {
    use tollgate_fixtures::{Cluster, Server};

    use super::{Runtime, assert_contract, cases, layers};

    fn assert_contract_at(url: &str, default: u32) {
        let runtime = Runtime::new().unwrap();
        let store = runtime.block_on(tollgate::open_with(url, layers())).unwrap();
        let cases = cases("TOLLGATE_REMOTE_CASES", default);
        assert_contract(store.layers().unwrap(), cases, &runtime);
    }

    #[test]
    fn layers_around_redis_keep_the_contract() {
        if let Some(server) = Server::redis() {
            assert_contract_at(&server.url(), 4);
        }
    }

    #[test]
    fn layers_around_a_cluster_keep_the_contract() {
        if let Some(cluster) = Cluster::start() {
            assert_contract_at(&cluster.url(), 2);
        }
    }
}
