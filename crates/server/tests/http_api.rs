//! Everything that is spoken over HTTP: what each path answers, and what becomes of the counts.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "http_api/acts.rs"]
mod acts;
#[path = "http_api/beside.rs"]
mod beside;
#[path = "http_api/enforce.rs"]
mod enforce;
#[path = "http_api/failing.rs"]
mod failing;
#[path = "http_api/metrics.rs"]
mod metrics;
#[path = "http_api/pages.rs"]
mod pages;
#[path = "http_api/proxy.rs"]
mod proxy;
#[path = "http_api/reload.rs"]
mod reload;
#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;

use support::Client;
use tollgate::Clock;
use tollgate_server::{Config, PolicyConfig, Server};

/// The policies of a config file.
fn policies(toml: &str) -> Vec<PolicyConfig> {
    Config::parse(toml).unwrap_or_else(|mistakes| panic!("{mistakes:?}")).policies
}

/// A server with these policies, the clock it goes by, and someone who talks to it.
struct Talk {
    server: Server,
    clock: Clock,
    client: Client,
}

impl Talk {
    fn of(toml: &str) -> Talk {
        let clock = Clock::manual();
        let mut builder = support::http::server_on(&clock);
        for policy in policies(toml) {
            builder = builder.policy(policy);
        }
        let server = builder.start().unwrap();
        Talk { client: Client::http(&server), server, clock }
    }

    /// A check under the nameless key: what it is told.
    #[track_caller]
    fn check(&mut self, policy: &str, key: &str) -> (bool, Option<u64>, Option<u64>) {
        let json = format!("{{\"policy\":\"{policy}\",\"key\":\"{key}\"}}");
        self.client.post("/v1/check", &json).told()
    }
}
