//! The contract of a store, run on real servers.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use tollgate_core::contract::Suite;
use tollgate_fixtures::{Cluster, Server};
use tollgate_redis::RedisStore;

/// Number of random cases for each law and algorithm in an ordinary run.
const CASES: u32 = 32;

fn cases() -> u32 {
    std::env::var("TOLLGATE_REMOTE_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(CASES)
}

fn keeps_the_contract(url: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // A busy machine must not fail the test.
    let store = RedisStore::builder(url).response_timeout(Duration::from_secs(60));
    let store = runtime.block_on(store.connect()).unwrap();
    Suite::new(&store).block_on(|pending| runtime.block_on(pending)).cases(cases()).run_all();
}

#[test]
fn redis_keeps_the_contract() {
    if let Some(server) = Server::redis() {
        keeps_the_contract(&server.url());
    }
}

#[test]
fn valkey_keeps_the_contract() {
    if let Some(server) = Server::valkey() {
        keeps_the_contract(&server.url());
    }
}

#[test]
fn a_cluster_keeps_the_contract() {
    if let Some(cluster) = Cluster::start() {
        keeps_the_contract(&cluster.url());
    }
}
