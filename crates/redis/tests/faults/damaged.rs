//! Values of ours that were damaged, or written by an attacker: every operation on them ends at once, in a decision
//! or in an error, and the server goes on.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tollgate_core::{Act, StoreError};
use tollgate_fixtures::Server;

use crate::client::{Client, assert_damaged};
use crate::errors::with_causes;
use crate::operations::{KeyedPolicy, Operation};

/// A limit of each rule, and of each kind of window.
const LINES: [&str; 10] = [
    "gcra 7/h burst 3",
    "gcra 6/h burst 3",
    "leaky-bucket size 5 drip 2 every 1h",
    "fixed-window 5/day",
    "fixed-window 5/month tz Europe/Amsterdam",
    "sliding-log 5/h",
    "sliding-counters 5/h resolution 10min",
    "sliding-window 5/h",
    "ar1 max 5 decay 1.5 resolution 1h",
    "concurrency 5 ttl 1h",
];
/// How many damaged values of each limit every operation sees.
const CASES: usize = 200;
const LONG_CASES: usize = 10_000;

/// A change to a value.
#[derive(Debug, Clone)]
enum Damage {
    /// A byte has another value.
    Byte(prop::sample::Index, u8),
    /// Eight bytes are a number of the attacker's choice.
    Number(prop::sample::Index, u64),
    /// The end is missing.
    Cut(prop::sample::Index),
}

/// Generates numbers that computations stumble over.
fn number() -> impl Strategy<Value = u64> {
    let doubles = [f64::NAN, f64::INFINITY, -1.0, 0.0, 5e-324, f64::MAX, 1.0 + f64::EPSILON];
    let doubles = doubles.map(f64::to_bits).to_vec();
    prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), prop::sample::select(doubles)]
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        (place(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        (place(), number()).prop_map(|(at, number)| Damage::Number(at, number)),
        place().prop_map(Damage::Cut),
    ]
}

impl Damage {
    fn apply(&self, value: &mut Vec<u8>) {
        let (Damage::Byte(place, _) | Damage::Number(place, _) | Damage::Cut(place)) = self;
        let length = value.len().max(1);
        let rest = value.iter_mut().skip(place.index(length));
        match self {
            Damage::Byte(_, byte) => rest.take(1).for_each(|old| *old = *byte),
            Damage::Number(_, number) => {
                rest.zip(number.to_le_bytes()).for_each(|(old, new)| *old = new);
            }
            Damage::Cut(_) => value.truncate(place.index(length)),
        }
    }
}

/// A key, and the field of a hash.
type Place = (Vec<u8>, Option<Vec<u8>>);

/// The keys of a server, with their bytes.
struct Keys(redis::Connection);

impl Keys {
    fn of(server: &Server) -> Keys {
        Keys(redis::Client::open(server.url()).unwrap().get_connection().unwrap())
    }

    fn command<T: redis::FromRedisValue>(&mut self, name: &str, args: &[&[u8]]) -> T {
        redis::cmd(name).arg(args).query(&mut self.0).unwrap()
    }

    /// Returns all values, by key; those of a hash also by field.
    fn all(&mut self) -> Vec<(Place, Vec<u8>)> {
        let keys: Vec<Vec<u8>> = self.command("KEYS", &[b"tg:*"]);
        let mut all = Vec::new();
        for key in keys {
            let kind: String = self.command("TYPE", &[&key]);
            if kind == "hash" {
                let fields: Vec<(Vec<u8>, Vec<u8>)> = self.command("HGETALL", &[&key]);
                all.extend(
                    fields.into_iter().map(|(field, value)| ((key.clone(), Some(field)), value)),
                );
            } else {
                let value = self.command("GET", &[&key]);
                all.push(((key, None), value));
            }
        }
        all
    }

    /// Replaces all values.
    fn set(&mut self, values: &[(Place, Vec<u8>)]) {
        let _: String = self.command("FLUSHALL", &[]);
        for ((key, field), value) in values {
            match field {
                None => {
                    let _: String = self.command("SET", &[key, value, b"EX", b"60"]);
                }
                Some(field) => {
                    let _: u64 = self.command("HSET", &[key, field, value]);
                    let _: u64 = self.command("EXPIRE", &[key, b"60"]);
                }
            }
        }
    }
}

#[test]
fn every_operation_on_a_damaged_value_ends() {
    let Some(server) = Server::redis() else { return };
    let (client, keys) = (Client::connect(&server.url()), &mut Keys::of(&server));
    let cases = if std::env::var_os("TOLLGATE_LONG").is_some() { LONG_CASES } else { CASES };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for line in LINES {
        let policy = KeyedPolicy::one(line, "a");
        keys.set(&[]);
        let _ = client.apply(policy.operation(Act::Reserve, 2).id("held")).unwrap();
        let _ = client.apply(policy.check().id("held")).unwrap();
        let _ = client.apply(policy.check()).unwrap();
        let values = keys.all();
        assert!(values.len() >= 2, "{line}: the state, and a reply under an id");
        for _ in 0..cases {
            let changes = prop::collection::vec(damage(), 1..4).new_tree(&mut runner);
            let (changes, mut damaged) = (changes.unwrap().current(), values.clone());
            for (_, value) in &mut damaged {
                changes.iter().for_each(|change| change.apply(value));
            }
            let mut assert_end = |operations: &[Operation<'_>]| {
                keys.set(&damaged);
                let results = client.apply_all(operations, None).into_iter();
                let mut errors = results.filter_map(Result::err);
                assert!(errors.all(|error| has_ended(&error)), "{operations:?} of {damaged:?}");
            };
            for act in Act::ALL {
                assert_end(&[policy.operation(act, 1).id("held")]);
                assert_end(&[policy.operation(act, 3).id("new")]);
            }
            // A run of equal checks is decided at once.
            assert_end(&[policy.check(), policy.check(), policy.operation(Act::Check, 2)]);
        }
        keys.set(&[]);
        let healthy = client.apply(policy.check());
        assert!(healthy.unwrap().allowed, "{line}: the server does not answer any more");
    }
}

/// Returns whether an operation that failed got a reply.
fn has_ended(error: &StoreError) -> bool {
    !with_causes(error).contains("timed out")
}

/// Levels that would fade for ever, and that no comparison holds for.
#[test]
fn a_level_that_never_fades_is_an_error_at_once() {
    let Some(server) = Server::redis() else { return };
    let (client, keys) = (Client::connect(&server.url()), &mut Keys::of(&server));
    let policy = KeyedPolicy::one("ar1 max 5 decay 1.5 resolution 1h", "a");
    let _ = client.apply(policy.check()).unwrap();
    let healthy = keys.all();
    // Behind the version and the tag: the level, when it was written, the decay, the step, the minimum.
    let (level, decay, minimum) = (2, 2 + 8 + 7, 2 + 8 + 7 + 8 + 7);
    for (place, number) in [
        (level, f64::NAN),
        (level, f64::INFINITY),
        (level, -1.0),
        (level, 1e300),
        (decay, 1.0 + f64::EPSILON),
        (decay, f64::NAN),
        (decay, f64::INFINITY),
        (minimum, 5e-324),
        (minimum, f64::NAN),
    ] {
        let mut damaged = healthy.clone();
        for (_, value) in &mut damaged {
            value[place..place + 8].copy_from_slice(&number.to_le_bytes());
        }
        for act in Act::ALL.into_iter().filter(|act| *act != Act::Reset) {
            keys.set(&damaged);
            let result = client.apply(policy.operation(act, 1).id("some"));
            assert_damaged(result, "TGSTATE");
        }
    }
}
