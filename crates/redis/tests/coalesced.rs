//! Checks of one key that are passed together share a call, and each is decided as if it had been sent alone.
//!
//! `TOLLGATE_COALESCED_CASES` sets the number of random cases, and `TOLLGATE_SEED` the seed.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use support::errors::with_causes;
use support::limits::with_count_denied;
use support::operations::{Operation, apply_all, connect, policy};
use tokio::runtime::Runtime;
use tollgate_core::contract::{ALGORITHMS, limit_line};
use tollgate_core::{
    Act, Apply, Decision, Id, Item, Key, Limit, LimitStatuses, MAX_COALESCED, MAX_COST, Name, Op,
    Span, Store, StoreError, Time,
};
use tollgate_fixtures::{Cluster, Server, calls_during};
use tollgate_redis::{MAX_LIMITS, RedisStore};

/// Number of random cases in an ordinary run.
const CASES: u32 = 400;
/// Part of them that is enough for each further server.
const FEWER: u32 = 4;

fn setting(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Some equal operations.
#[derive(Debug, Clone)]
struct Group {
    act: Act,
    count: usize,
    cost: u64,
    /// The costs of limits that differ from `cost`.
    own_costs: [Option<u64>; 4],
    id: Option<&'static str>,
    with_statuses: bool,
}

/// Operations that are passed together.
#[derive(Debug, Clone)]
struct Slice {
    /// How far time moves before it: thousandths of the time a full key takes to reset, and ticks.
    moves: (i64, i64),
    /// Which version of the limits is used.
    version: usize,
    groups: Vec<Group>,
}

#[derive(Debug, Clone)]
struct Case {
    versions: [Vec<String>; 2],
    /// Index of the subject, of two, that each limit counts.
    subjects: [usize; 4],
    start: u64,
    slices: Vec<Slice>,
}

/// Generates limits: mostly such as share calls.
fn limits() -> impl Strategy<Value = Vec<String>> {
    let counts_denied = proptest::bool::weighted(1.0 / 13.0);
    let algorithm = prop_oneof![
        9 => select(&ALGORITHMS[..9]),
        1 => select(&ALGORITHMS[..]),
    ];
    let line = (algorithm.prop_flat_map(limit_line), counts_denied).prop_map(with_count_denied);
    let line = prop_oneof![12 => line, 1 => Just("unlimited".to_owned())];
    prop_oneof![
        3 => proptest::collection::vec(line.clone(), 1),
        2 => proptest::collection::vec(line, 2..5),
    ]
}

/// Generates another version of limits: mostly of the same algorithms, with other numbers.
fn other_version(lines: &[String]) -> BoxedStrategy<Vec<String>> {
    let other = |line: &String| {
        let algorithm = ALGORITHMS.into_iter().find(|name| line.starts_with(name));
        algorithm.map_or(Just(line.clone()).boxed(), |name| limit_line(name).boxed())
    };
    let others: Vec<_> = lines.iter().map(other).collect();
    prop_oneof![others, Just(lines.to_vec())].boxed()
}

fn cost(capacity: u64) -> impl Strategy<Value = u64> {
    let fraction = (capacity / 20).max(1)..=(capacity / 3).max(1);
    prop_oneof![
        6 => Just(1_u64),
        1 => Just(0),
        6 => fraction,
        1 => Just(capacity),
        1 => Just(capacity.saturating_add(1).min(MAX_COST)),
    ]
}

fn group(capacity: u64) -> impl Strategy<Value = Group> {
    let count = prop_oneof![4 => Just(1_usize), 3 => 2_usize..8, 1 => 8_usize..70];
    let act = prop_oneof![
        20 => Just(Act::Check),
        1 => select(&[Act::Peek, Act::Refund, Act::Charge, Act::Reserve, Act::Settle, Act::Reset][..]),
    ];
    let own = prop_oneof![2 => Just(None), 1 => Just(Some(0)), 1 => cost(capacity).prop_map(Some)];
    let own = prop_oneof![3 => Just([None; 4]), 1 => proptest::array::uniform4(own)];
    let id = proptest::option::weighted(0.3, select(&["a", "b", "c", "d", "e"][..]));
    let parts = (act, count, cost(capacity), own, id, any::<bool>());
    parts.prop_map(|(act, count, cost, own_costs, id, with_statuses)| {
        let id = if act.needs_id() { id.or(Some("a")) } else { id };
        let count = if act == Act::Check { count } else { 1 };
        Group { act, count, cost, own_costs, id, with_statuses }
    })
}

fn slices(capacity: u64) -> impl Strategy<Value = Vec<Slice>> {
    let moves = prop_oneof![
        2 => Just((0, 0)),
        4 => (1_i64..300, 0_i64..2),
        2 => (300_i64..1500, -1_i64..2),
        1 => (0_i64..1, 1_i64..1000),
        1 => (-800_i64..0, 0_i64..1),
    ];
    let version = prop_oneof![3 => Just(0_usize), 1 => Just(1)];
    let groups = proptest::collection::vec(group(capacity), 1..8);
    let slice = (moves, version, groups).prop_map(|(moves, version, groups)| Slice {
        moves,
        version,
        groups,
    });
    proptest::collection::vec(slice, 1..6)
}

fn cases() -> impl Strategy<Value = Case> {
    let start = prop_oneof![
        1 => 0_u64..1_000_000,
        4 => 1_700_000_000_000_000_u64..1_800_000_000_000_000,
        1 => (1_u64 << 52) - 1_000_000_000..(1 << 52) - 1,
    ];
    let subjects = prop_oneof![2 => Just([0; 4]), 1 => proptest::array::uniform4(0_usize..2)];
    limits().prop_flat_map(move |lines| {
        let limits = lines.iter().map(|line| line.parse::<Limit>().unwrap());
        let capacity = limits.filter_map(|limit| limit.capacity()).min().unwrap_or(1);
        let parts = (other_version(&lines), subjects.clone(), start.clone(), slices(capacity));
        parts.prop_map(move |(other, subjects, start, slices)| Case {
            versions: [lines.clone(), other],
            subjects,
            start,
            slices,
        })
    })
}

fn time_after(now: u64, moves: (i64, i64), limits: &[Limit]) -> u64 {
    let reset = limits.iter().filter_map(Limit::full_reset_after).max().map_or(0, Span::as_micros);
    let by = i128::from(reset) * i128::from(moves.0) / 1000 + i128::from(moves.1);
    let at = u64::try_from((i128::from(now) + by).max(0)).unwrap();
    at.min(Time::MAX.as_micros())
}

/// The same operations, passed together to one store and one by one to another.
struct Pair<'s> {
    runtime: &'s Runtime,
    together: &'s RedisStore,
    one_by_one: &'s RedisStore,
}

/// Returns a result and the status of each limit as text, so that errors can be compared.
fn to_text(result: &Result<Decision, StoreError>, statuses: &LimitStatuses) -> String {
    let statuses = statuses.to_vec();
    match result {
        Ok(decision) => format!("{decision:?} {statuses:?}"),
        Err(error) => format!("{} {statuses:?}", with_causes(error)),
    }
}

impl Pair<'_> {
    /// Applies operations to both stores, and returns the results as text. Each operation has with it
    /// whether it asks for the status of each limit.
    fn apply(&self, ops: &[(Op<'_>, bool)], at: Option<Time>) -> [Vec<String>; 2] {
        let together = reported(ops, |ops, out| {
            if let Apply::Pending(pending) = self.together.apply(ops, at, out) {
                self.runtime.block_on(pending);
            }
        });
        let one_by_one = reported(ops, |ops, out| {
            for (op, out) in ops.iter().zip(out) {
                *out = self.runtime.block_on(self.one_by_one.apply_one(op, at));
            }
        });
        [together, one_by_one]
    }
}

/// Applies operations, and returns the results and the statuses as text.
fn reported(
    ops: &[(Op<'_>, bool)],
    apply: impl FnOnce(&[Op<'_>], &mut [Result<Decision, StoreError>]),
) -> Vec<String> {
    let statuses: Vec<LimitStatuses> = ops.iter().map(|_| LimitStatuses::default()).collect();
    let with_statuses = ops.iter().zip(&statuses).map(|((op, wanted), statuses)| {
        let mut op = *op;
        op.statuses = wanted.then_some(statuses);
        op
    });
    let with_statuses: Vec<Op<'_>> = with_statuses.collect();
    let mut out = vec![Err(StoreError::unanswered()); ops.len()];
    apply(&with_statuses, &mut out);
    out.iter().zip(&statuses).map(|(one, statuses)| to_text(one, statuses)).collect()
}

/// Runs a case under keys of its own.
fn run(case: &Case, number: u64, pair: &Pair<'_>) -> Result<(), TestCaseError> {
    let name = Name::new("coalesced").unwrap();
    let keys = ["a", "b"].map(|name| format!("{number}{name}"));
    let versions = case
        .versions
        .clone()
        .map(|lines| -> Vec<Limit> { lines.iter().map(|line| line.parse().unwrap()).collect() });
    let mut now = case.start;
    for (index, slice) in case.slices.iter().enumerate() {
        let limits = &versions[slice.version];
        now = time_after(now, slice.moves, limits);
        let at = Time::from_micros(now);
        let items = |group: &Group| -> Vec<Item<'_>> {
            let limits = limits.iter().zip(case.subjects.iter().cycle());
            let limits = limits.zip(group.own_costs.iter().cycle());
            let item = |((limit, subject), cost): ((_, &usize), &Option<u64>)| Item {
                limit,
                subject: Key::new(keys[*subject].as_bytes()).unwrap().into(),
                cost: cost.unwrap_or(group.cost),
            };
            limits.map(item).collect()
        };
        let items: Vec<Vec<Item<'_>>> = slice.groups.iter().map(items).collect();
        let ops = slice.groups.iter().zip(&items).flat_map(|(group, items)| {
            let op = Op::check(&name, items).with_act(group.act);
            let op = group.id.map_or(op, |id| op.with_id(Id::new(id.as_bytes()).unwrap()));
            std::iter::repeat_n((op, group.with_statuses), group.count)
        });
        let ops: Vec<(Op<'_>, bool)> = ops.collect();
        let [together, one_by_one] = pair.apply(&ops, at);
        for (op, (together, one_by_one)) in together.iter().zip(&one_by_one).enumerate() {
            prop_assert_eq!(together, one_by_one, "operation {} of slice {}", op, index);
        }
        let peek = [(ops[0].0.with_act(Act::Peek).without_id(), true)];
        let [together, one_by_one] = pair.apply(&peek, at);
        prop_assert_eq!(together, one_by_one, "state after slice {}", index);
    }
    Ok(())
}

fn compare(url: &str, cases_to_run: u32) {
    let runtime = Runtime::new().unwrap();
    let [together, one_by_one] =
        ["together", "one-by-one"].map(|prefix| runtime.block_on(connect(url, prefix)));
    let pair = Pair { runtime: &runtime, together: &together, one_by_one: &one_by_one };
    let next = std::cell::Cell::new(0_u64);
    let config = Config {
        cases: cases_to_run,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(u64::from(setting("TOLLGATE_SEED", 1))),
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    let test = |case: Case| {
        next.set(next.get() + 1);
        run(&case, next.get(), &pair)
    };
    if let Err(failure) = TestRunner::new(config).run(&cases(), test) {
        panic!("{failure}");
    }
}

#[test]
fn checks_that_share_a_call_are_decided_as_if_alone() {
    let cases = setting("TOLLGATE_COALESCED_CASES", CASES);
    if let Some(server) = Server::redis() {
        compare(&server.url(), cases);
    }
    if let Some(server) = Server::valkey() {
        compare(&server.url(), cases / FEWER);
    }
}

#[test]
fn checks_that_share_a_call_in_a_cluster_are_decided_as_if_alone() {
    if let Some(cluster) = Cluster::start() {
        compare(&cluster.url(), setting("TOLLGATE_COALESCED_CASES", CASES) / FEWER);
    }
}

/// The state belongs to a window far ahead of the time, so that the script asks for other windows.
#[test]
fn calendar_windows_far_ahead_are_asked_for() {
    let Some(server) = Server::redis() else { return };
    let group = |count, cost, id| Group {
        act: Act::Check,
        count,
        cost,
        own_costs: [None; 4],
        id,
        with_statuses: true,
    };
    let charge = Group { act: Act::Charge, ..group(1, 1, None) };
    let groups = vec![
        group(1, 1, None),
        charge,
        group(2, 1, None),
        group(1, 2, Some("a")),
        group(70, 1, None),
        group(1, 0, None),
    ];
    let slice = |permille| Slice { moves: (permille, 0), version: 0, groups: groups.clone() };
    let case = Case {
        versions: ["5", "9"]
            .map(|n| vec![format!("fixed-window {n}/year"), format!("fixed-window 9{n}/week")]),
        subjects: [0, 1, 0, 0],
        start: 1_700_000_000_000_000,
        slices: vec![slice(0), slice(-3_000), slice(2_999), slice(-5_500), slice(9_000)],
    };
    let runtime = Runtime::new().unwrap();
    let [together, one_by_one] =
        ["together", "one-by-one"].map(|prefix| runtime.block_on(connect(&server.url(), prefix)));
    let pair = Pair { runtime: &runtime, together: &together, one_by_one: &one_by_one };
    run(&case, 0, &pair).unwrap();
}

/// The variables of a limit are locals in a script of few limits, and fields in one of many.
#[test]
fn policies_of_many_limits_share_a_call() {
    const LINES: [&str; 8] = [
        "sliding-log 30/min",
        "gcra 7/min burst 25",
        "sliding-counters 50/h",
        "ar1 max 22.5 decay 2 resolution 1s",
        "leaky-bucket size 40 drip 2 every 1s",
        "fixed-window 1000/day",
        "request-window 33/min",
        "sliding-window 100/min",
    ];
    let Some(server) = Server::redis() else { return };
    let group = |count, cost, own_costs, id| Group {
        act: Act::Check,
        count,
        cost,
        own_costs,
        id,
        with_statuses: true,
    };
    let groups = vec![
        group(3, 1, [None; 4], None),
        group(1, 2, [None, Some(0), Some(1), None], Some("a")),
        group(2, 1, [Some(0); 4], None),
        group(1, 2, [None; 4], Some("a")),
        group(40, 1, [None; 4], None),
    ];
    let slice = |permille| Slice { moves: (permille, 0), version: 0, groups: groups.clone() };
    let runtime = Runtime::new().unwrap();
    let [together, one_by_one] =
        ["together", "one-by-one"].map(|prefix| runtime.block_on(connect(&server.url(), prefix)));
    let pair = Pair { runtime: &runtime, together: &together, one_by_one: &one_by_one };
    let lines = |count: usize, of: &[&str]| -> Vec<String> {
        of.iter().cycle().take(count).map(|line| (*line).to_owned()).collect()
    };
    let mixed = [5, 8, 9, MAX_LIMITS].map(|count| lines(count, &LINES));
    let of_one_kind = LINES.iter().flat_map(|line| [8, MAX_LIMITS].map(|n| lines(n, &[line])));
    for (number, lines) in (0..).zip(of_one_kind.chain(mixed)) {
        let case = Case {
            versions: [lines.clone(), lines],
            subjects: [0, 1, 0, 0],
            start: 1_700_000_000_000_000,
            slices: vec![slice(0), slice(3), slice(1_100), slice(-500)],
        };
        run(&case, number, &pair).unwrap();
    }
}

/// Policies whose capacity is ten, and which get nothing back while a test runs.
const TEN: [&[&str]; 11] = [
    &["gcra 1/7day burst 10"],
    &["token-bucket 1/7day burst 10"],
    &["leaky-bucket size 10 drip 1 every 7day"],
    &["request-window 10/7day"],
    &["fixed-window 10/year"],
    &["sliding-log 10/7day"],
    &["sliding-counters 10/7day"],
    &["ar1 max 10 decay 2 resolution 7day"],
    &["gcra 1/7day burst 10", "gcra 1/7day burst 20"],
    &["gcra 1/7day burst 20 per ip", "sliding-log 10/7day per user"],
    &["unlimited", "request-window 10/7day"],
];

#[test]
fn by_the_servers_clock_the_first_that_fit_are_allowed() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&server.url(), "tg"));
    for lines in TEN {
        let policy = policy("clock", lines);
        let checks = vec![Operation::new(&policy, &format!("{lines:?}"), Act::Check, 1); 30];
        let results = runtime.block_on(apply_all(&store, &checks));
        for (index, result) in (0..).zip(results) {
            let decision = result.unwrap();
            assert_eq!(decision.allowed, index < 10, "{lines:?} {index}");
            assert_eq!(decision.remaining, Some(9_u64.saturating_sub(index)), "{lines:?} {index}");
        }
    }
}

/// Returns how many scripts were called for some checks of one key.
fn calls_of(server: &Server, store: &RedisStore, checks: &[Operation<'_>]) -> u64 {
    let runtime = Runtime::new().unwrap();
    let calls = calls_during(server, || {
        for result in runtime.block_on(apply_all(store, checks)) {
            let _ = result.unwrap();
        }
    });
    calls.count("evalsha") - calls.failed("evalsha") + calls.count("eval")
}

#[test]
fn checks_of_one_key_are_one_call() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&server.url(), "tg"));
    for lines in TEN {
        let policy = policy("calls", lines);
        let check = |cost| Operation::new(&policy, "a", Act::Check, cost);
        let equal = |count| vec![check(1); count];
        let costs: Vec<_> = (0..64).map(check).collect();
        let with_ids: Vec<_> = (0..64).map(|id| check(1).with_id(&format!("{id}"))).collect();
        let two_keys: Vec<_> = ["a", "a", "b", "b", "b", "a"]
            .map(|key| Operation::new(&policy, key, Act::Check, 1))
            .to_vec();
        assert_eq!(MAX_COALESCED, 64);
        let table = [
            (equal(64), 1),
            (equal(65), 2),
            (costs, 1),
            (with_ids, 1),
            (two_keys, 3),
            (equal(1), 1),
        ];
        for (checks, calls) in table {
            assert_eq!(calls_of(&server, &store, &checks), calls, "{lines:?}");
        }
    }
}

#[test]
fn leases_and_denied_attempts_that_count_are_calls_of_their_own() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&server.url(), "tg"));
    for line in ["concurrency 5 ttl 1h", "gcra 5/min count-denied"] {
        let policy = policy("alone", &[line]);
        let checks = vec![Operation::new(&policy, "a", Act::Check, 1); 8];
        assert_eq!(calls_of(&server, &store, &checks), 8, "{line}");
    }
}

#[test]
fn checks_that_share_a_call_survive_a_flush_of_scripts() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&server.url(), "tg"));
    let policy = policy("flushed", &["gcra 1/7day burst 1000"]);
    for round in 1..=4 {
        assert_eq!(server.cli(&["script", "flush"]), "OK");
        let checks = vec![Operation::new(&policy, "a", Act::Check, 1); 130];
        let last = runtime.block_on(apply_all(&store, &checks)).pop().unwrap().unwrap();
        assert_eq!(last.remaining, Some(1000 - 130 * round));
    }
}

/// Prints how long Redis works on a call: microseconds of `EVALSHA` in `INFO commandstats`.
#[test]
#[ignore = "prints figures; run it alone, with --release"]
fn time_of_a_call() {
    const CALLS: usize = 200;
    const ROUNDS: usize = 10;
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&server.url(), "tg"));
    let policies: [&[&str]; 4] = [
        &["gcra 1000000/s burst 4000000000"],
        &["gcra 1000000/s burst 4000000000", "gcra 2000000/s burst 4000000000"],
        &["sliding-log 1000/s"],
        &["gcra 1/day burst 1"],
    ];
    for lines in policies {
        let policy = policy("time", lines);
        let check = |cost| Operation::new(&policy, &format!("{lines:?}"), Act::Check, cost);
        let with_id = |call: usize, id: u64| check(1).with_id(&format!("{call} {id}"));
        let slice = |name: &str, call: usize| match name {
            "one check" => vec![check(1)],
            "64 equal" => vec![check(1); 64],
            "64 costs" => (1..=64).map(check).collect(),
            _ => (0..64).map(|id| with_id(call, id)).collect(),
        };
        for name in ["one check", "64 equal", "64 costs", "64 ids"] {
            let time_of_a_round = |round: usize| {
                calls_during(&server, || {
                    for call in 0..CALLS {
                        runtime.block_on(apply_all(&store, &slice(name, round * CALLS + call)));
                    }
                });
                let stats = server.cli(&["info", "commandstats"]);
                let mut lines = stats.lines();
                let evalsha = lines.find(|line| line.starts_with("cmdstat_evalsha:")).unwrap();
                let time = evalsha.split(',').find_map(|part| part.strip_prefix("usec_per_call="));
                time.unwrap().parse::<f64>().unwrap()
            };
            // The least of some rounds: whatever else the machine does can only add to it.
            let time = (0..ROUNDS).map(time_of_a_round).fold(f64::INFINITY, f64::min);
            println!("{lines:?}, {name}: {time} us");
        }
    }
}
