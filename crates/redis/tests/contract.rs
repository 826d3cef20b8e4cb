//! The laws, held against real servers.

#![allow(clippy::unwrap_used, reason = "a test")]

use tollgate_core::contract::Suite;
use tollgate_fixtures::Server;
use tollgate_redis::RedisStore;

/// Random cases for each law and algorithm in an ordinary run.
const CASES: u32 = 32;

fn cases() -> u32 {
    std::env::var("TOLLGATE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

fn keeps_the_contract(server: Option<Server>) {
    let Some(server) = server else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(RedisStore::connect(&server.url())).unwrap();
    Suite::new(&store).block_on(|later| runtime.block_on(later)).cases(cases()).run_all();
}

#[test]
fn redis_keeps_the_contract() {
    keeps_the_contract(Server::redis());
}

#[test]
fn valkey_keeps_the_contract() {
    keeps_the_contract(Server::valkey());
}
