//! No call walks more than so many entries, also at the bounds: the scripts count their steps.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::time::Duration;

use support::at_bounds::{Choice, Meter};
use support::workers::print_line;
use tokio::runtime::Runtime;
use tollgate_core::Policy;
use tollgate_fixtures::Server;
use tollgate_redis::{RedisStore, STEPS_KEY};

/// Maximum number of steps of one call for each limit: runs through a loop, and values that are packed or unpacked. It is
/// that of a settlement that lowers what is left of each of 1,024 reservations. Nearly all calls need less than a third.
const MAX_STEPS: u64 = 8 * 1_024;
/// Number of calls of each kind. Some do more than others: where a group of reservations or a block is full.
const CALLS: usize = 80;

/// Reads the steps that the scripts have counted.
struct Steps(redis::Connection);

impl Meter for Steps {
    fn begin(&mut self) {
        redis::cmd("DEL").arg(STEPS_KEY).exec(&mut self.0).unwrap();
    }

    fn end(&mut self) -> Vec<u64> {
        redis::cmd("LRANGE").arg(STEPS_KEY).arg(0).arg(-1).query(&mut self.0).unwrap()
    }

    fn report(&mut self, policy: &Policy, what: &str, steps: Vec<u64>) {
        let (limit, limits) = (policy.limits()[0].to_string(), policy.limits().len() as u64);
        let most = steps.iter().max().unwrap();
        let mean = steps.iter().sum::<u64>() / steps.len() as u64;
        print_line(&format!("{limit:45} x{limits} {what:12} {mean:6} {most:6}"));
        assert!(*most <= MAX_STEPS * limits, "{limit} x{limits} {what}: {most} steps");
    }
}

fn counted(measure: fn(&Choice, &RedisStore, &mut dyn Meter)) {
    let Some(server) = Server::redis() else { return };
    let choice = Choice { runtime: Runtime::new().unwrap(), calls: CALLS, begin: String::new() };
    let store = RedisStore::builder(&server.url()).with_counted_steps();
    let store = store.response_timeout(Duration::from_secs(60));
    let store = choice.runtime.block_on(store.connect()).unwrap();
    let mut steps = Steps(redis::Client::open(server.url()).unwrap().get_connection().unwrap());
    measure(&choice, &store, &mut steps);
}

#[test]
fn with_open_reservations() {
    counted(Choice::with_open_reservations);
}

#[test]
fn with_crowded_entries() {
    counted(Choice::with_crowded_entries);
}
