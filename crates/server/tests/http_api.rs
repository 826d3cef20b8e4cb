//! The HTTP API: the responses of each path, and the counters.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "http_api/candidates.rs"]
mod candidates;
#[path = "http_api/distribution.rs"]
mod distribution;
#[path = "http_api/enforcement.rs"]
mod enforcement;
#[path = "http_api/layers.rs"]
mod layers;
#[path = "http_api/metrics.rs"]
mod metrics;
#[path = "http_api/operations.rs"]
mod operations;
#[path = "http_api/pages.rs"]
mod pages;
#[path = "http_api/proxy.rs"]
mod proxy;
#[path = "http_api/reload.rs"]
mod reload;
#[path = "http_api/store_failures.rs"]
mod store_failures;
#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;
#[path = "http_api/wall_clock.rs"]
mod wall_clock;

use support::Client;
use tollgate::Clock;
use tollgate_server::{Config, PolicyConfig, Server};

/// Parses the policies of a config file.
fn policies(toml: &str) -> Vec<PolicyConfig> {
    Config::parse(toml).unwrap_or_else(|errors| panic!("{errors:?}")).policies
}

/// A server with its manual clock, and a client of it.
struct Fixture {
    server: Server,
    clock: Clock,
    client: Client,
}

impl Fixture {
    fn new(toml: &str) -> Fixture {
        let clock = Clock::manual();
        let mut builder = support::http::server_on(&clock);
        for policy in policies(toml) {
            builder = builder.policy(policy);
        }
        let server = builder.start().unwrap();
        Fixture { client: Client::http(&server), server, clock }
    }

    /// Checks the nameless key. Returns `allowed`, `limit` and `remaining`.
    #[track_caller]
    fn check(&mut self, policy: &str, key: &str) -> (bool, Option<u64>, Option<u64>) {
        let json = format!("{{\"policy\":\"{policy}\",\"key\":\"{key}\"}}");
        self.client.post("/v1/check", &json).decision()
    }
}
