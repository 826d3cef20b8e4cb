//! What the server says about a clock of the machine that is wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tollgate::Clock;
use tollgate_fixtures::wait_until;

use crate::metrics::samples;
use crate::policies;
use crate::support::Client;
use crate::support::http::server_on;

const POLICIES: &str = "
[policy.default]
limits = [\"gcra 1/s burst 5\"]
[policy.quota]
limits = [\"gcra 1/s burst 5\", \"fixed-window 100/month\"]
";

/// Clocks are compared once a second.
const LIMIT: Duration = Duration::from_secs(30);

fn behind(client: &mut Client) -> f64 {
    samples(client)["tollgate_wall_clock_behind_seconds"]
}

/// Returns what each policy says, in the order of their names.
fn of_policies(client: &mut Client) -> Vec<Value> {
    let list = client.get("/v1/policies").json();
    let policies = list["policies"].as_array().unwrap();
    policies.iter().map(|policy| policy["wall_clock_behind_ms"].clone()).collect()
}

#[test]
fn a_clock_that_is_behind_shows_until_it_agrees() {
    let set_back = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&set_back);
    let clock = Clock::with_wall(move || {
        SystemTime::now() - Duration::from_secs(seen.load(Ordering::Relaxed))
    });
    let mut builder = server_on(&clock);
    for policy in policies(POLICIES) {
        builder = builder.policy(policy);
    }
    let server = builder.start().unwrap();
    let client = &mut Client::http(&server);
    assert_eq!(behind(client), 0.0);
    assert_eq!(of_policies(client), [Value::Null, Value::Null]);

    let before = clock.now();
    set_back.store(3600, Ordering::Relaxed);
    wait_until("the clock is behind", LIMIT, || behind(client) > 0.0);
    assert!((3590.0..=3600.0).contains(&behind(client)));
    // Only the policy with a calendar window says so.
    let said = of_policies(client);
    assert_eq!(said[0], Value::Null);
    assert!((3_590_000..=3_600_000).contains(&said[1].as_u64().unwrap()), "{said:?}");
    assert!(clock.now() >= before, "time stepped back");

    set_back.store(0, Ordering::Relaxed);
    wait_until("the clock agrees", LIMIT, || behind(client) == 0.0);
    assert_eq!(of_policies(client), [Value::Null, Value::Null]);
}
