//! What every operation costs the server at the bounds, over 1,000 calls: microseconds per call as `SLOWLOG` has them,
//! their median, and the slowest call. Of a call with several checks, for each of them. Below the bounds also how many
//! times as long the slowest call took as a plain check of the same run, by as many limits of a key with nothing else:
//! more than 20 times is marked. Calls that bring the script, which the server then compiles, do not count.
//!
//! `cargo test -p tollgate-redis --test costs -- --ignored --nocapture --test-threads 1` prints a table. `TOLLGATE_CALLS`
//! sets the number of calls, and `TOLLGATE_LINES` what a limit must begin with.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::collections::HashMap;

use support::at_bounds::{COALESCED, Choice, Meter, PLAIN_CHECK};
use support::operations::connect;
use support::workers::print_line;
use tokio::runtime::Runtime;
use tollgate_core::Policy;
use tollgate_fixtures::Server;
use tollgate_redis::RedisStore;

/// Number, time, microseconds, arguments, client and its name.
type SlowlogEntry = (u64, u64, u64, Vec<Vec<u8>>, String, String);

/// How many times as long as a plain check a call may take that is not at the bounds.
const MAX_TIMES: u64 = 20;

/// Reads what the server has spent on scripts.
struct Slowlog {
    connection: redis::Connection,
    /// How long a plain check by so many limits takes, if that was measured.
    plain: HashMap<usize, u64>,
}

impl Slowlog {
    fn of(server: &Server) -> Slowlog {
        let connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
        let mut slowlog = Slowlog { connection, plain: HashMap::new() };
        for (name, value) in [("slowlog-log-slower-than", 0), ("slowlog-max-len", 10_000)] {
            let set =
                redis::cmd("CONFIG").arg("SET").arg(name).arg(value).exec(&mut slowlog.connection);
            set.unwrap();
        }
        slowlog
    }
}

impl Meter for Slowlog {
    fn begin(&mut self) {
        redis::cmd("SLOWLOG").arg("RESET").exec(&mut self.connection).unwrap();
    }

    fn end(&mut self) -> Vec<u64> {
        let entries: Vec<SlowlogEntry> =
            redis::cmd("SLOWLOG").arg("GET").arg(-1).query(&mut self.connection).unwrap();
        let of_scripts = entries.iter().filter(|entry| entry.3[0] == b"EVALSHA");
        of_scripts.map(|entry| entry.2).collect()
    }

    fn report(&mut self, policy: &Policy, what: &str, mut micros: Vec<u64>) {
        if what == "coalesced" {
            micros.iter_mut().for_each(|micros| *micros /= COALESCED as u64);
        }
        micros.sort_unstable();
        let mean = micros.iter().sum::<u64>() / micros.len() as u64;
        let (median, slowest) = (micros[micros.len() / 2], micros[micros.len() - 1]);
        let (limit, limits) = (policy.limits()[0].to_string(), policy.limits().len());
        let times = self.plain.get(&limits).map_or(String::new(), |plain| {
            let mark = if slowest > MAX_TIMES * plain { "!" } else { "" };
            format!(" {:6.1} {mark}", slowest as f64 / *plain as f64)
        });
        print_line(&format!(
            "{limit:45} x{limits} {what:12} {mean:6} {median:6} {slowest:6}{times}"
        ));
        if what == PLAIN_CHECK {
            self.plain.insert(limits, mean);
        }
    }
}

fn choice() -> Choice {
    let calls = std::env::var("TOLLGATE_CALLS").ok().and_then(|text| text.parse().ok());
    let begin = std::env::var("TOLLGATE_LINES").unwrap_or_default();
    Choice { runtime: Runtime::new().unwrap(), calls: calls.unwrap_or(1_000), begin }
}

fn measured(measure: fn(&Choice, &RedisStore, &mut dyn Meter)) {
    let Some(server) = Server::redis() else { return };
    let choice = choice();
    let store = choice.runtime.block_on(connect(&server.url(), "tg"));
    measure(&choice, &store, &mut Slowlog::of(&server));
}

#[test]
#[ignore = "measures"]
fn with_open_reservations() {
    measured(Choice::with_open_reservations);
}

#[test]
#[ignore = "measures"]
fn with_crowded_entries() {
    measured(Choice::with_crowded_entries);
}

/// Fewer reservations, slots and leases than at the bounds.
#[test]
#[ignore = "measures"]
fn below_the_bounds_against_a_plain_check() {
    let Some(server) = Server::redis() else { return };
    let choice = choice();
    let store = choice.runtime.block_on(connect(&server.url(), "tg"));
    let mut slowlog = Slowlog::of(&server);
    choice.plain_check(&store, &mut slowlog);
    choice.below_the_bounds(&store, &mut slowlog);
}
