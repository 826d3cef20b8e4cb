//! Random limits, times and operations.

use std::fmt;

use proptest::prelude::*;
use proptest::sample::select;

use crate::{Act, Limit, MAX_COST, Span, Time};

/// The algorithms that the laws are tested on.
pub const ALGORITHMS: [&str; 10] = [
    "gcra",
    "token-bucket",
    "leaky-bucket",
    "fixed-window",
    "request-window",
    "sliding-log",
    "sliding-counters",
    "sliding-window",
    "ar1",
    "concurrency",
];

/// One operation of a random case.
#[derive(Clone)]
pub struct Step {
    /// What to do.
    pub act: Act,
    /// The cost of each limit that has none in `costs`.
    pub cost: u64,
    /// The costs of the limits, in order, if they differ.
    pub costs: Vec<u64>,
    /// The id.
    pub id: Option<&'static str>,
    /// How far time moves before it: thousandths of the time a full key takes to reset, and ticks.
    pub moves: (i64, i64),
    /// Which variant of the case's limits is used. The variants differ in their numbers.
    pub variant: usize,
}

impl fmt::Debug for Step {
    /// Writes one line, so that a failing case is readable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step { act, cost, costs, id, moves: (permille, ticks), variant } = self;
        write!(f, "{act} {cost}, ")?;
        if !costs.is_empty() {
            write!(f, "costs {costs:?}, ")?;
        }
        write!(f, "{permille}/1000 and {ticks} later, limits {variant}")?;
        id.map_or(Ok(()), |id| write!(f, ", id {id}"))
    }
}

impl Step {
    pub(super) fn new(act: Act, cost: u64) -> Step {
        Step { act, cost, costs: Vec::new(), id: None, moves: (0, 0), variant: 0 }
    }

    /// Returns the cost of the limit at this position of the policy.
    #[must_use]
    pub fn cost_at(&self, position: usize) -> u64 {
        self.costs.get(position).copied().unwrap_or(self.cost)
    }

    /// Returns the step for the limit at this position alone.
    pub(super) fn only(&self, position: usize) -> Step {
        Step { cost: self.cost_at(position), costs: Vec::new(), ..self.clone() }
    }

    /// Returns a peek with the same costs.
    pub(super) fn as_peek(&self) -> Step {
        Step { act: Act::Peek, id: None, ..self.clone() }
    }

    /// Returns its instant, if the step before it was at `now`.
    pub(super) fn time(&self, limits: &[Limit], now: Time) -> Time {
        let reset =
            limits.iter().filter_map(Limit::full_reset_after).max().map_or(0, Span::as_micros);
        let scaled = i128::from(reset).saturating_mul(i128::from(self.moves.0));
        let moved = scaled.checked_div(1000).unwrap_or(0).saturating_add(i128::from(self.moves.1));
        let at = i128::from(now.as_micros()).saturating_add(moved).max(0);
        u64::try_from(at).ok().and_then(Time::from_micros).unwrap_or(now)
    }
}

fn rate() -> impl Strategy<Value = String> {
    let unit = select(&["us", "ms", "s", "s", "min", "min", "h", "day", "week"][..]);
    let count = prop_oneof![1_u32..20, select(&[1, 60, 100, 1000, 7919, 10_000_000][..])];
    prop_oneof![
        4 => (count.clone(), unit.clone()).prop_map(|(n, unit)| format!("{n}/{unit}")),
        1 => (count, 2_u32..100, unit).prop_map(|(n, k, unit)| format!("{n}/{k}{unit}")),
        1 => Just("1000000000/day".to_owned()),
    ]
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 1_u32..20, 2 => 20_u32..5000, 1 => Just(1_000_000)]
}

fn length() -> impl Strategy<Value = String> {
    let unit = select(&["us", "ms", "s", "min", "h"][..]);
    (1_u32..100, unit).prop_map(|(n, unit)| format!("{n}{unit}"))
}

/// Generates limit lines of an algorithm, without `count-denied`.
pub fn limit_line(algorithm: &'static str) -> BoxedStrategy<String> {
    let text = |strategy: BoxedStrategy<String>| {
        let named = strategy.prop_map(move |rest| format!("{algorithm} {rest}"));
        // The generator does not know the bounds; other tests cover lines out of bounds.
        named.prop_filter("out of bounds", |line| line.parse::<Limit>().is_ok()).boxed()
    };
    text(match algorithm {
        "gcra" => burst("").boxed(),
        "token-bucket" => prop_oneof![burst(""), burst(" whole")].boxed(),
        "leaky-bucket" => (count(), count(), length())
            .prop_map(|(size, drip, every)| format!("size {size} drip {drip} every {every}"))
            .boxed(),
        "fixed-window" => prop_oneof![3 => rate(), 1 => calendar()].boxed(),
        "sliding-counters" => counters().boxed(),
        "ar1" => fade().boxed(),
        "concurrency" => (count(), length()).prop_map(|(n, ttl)| format!("{n} ttl {ttl}")).boxed(),
        _ => rate().boxed(),
    })
}

fn burst(suffix: &'static str) -> impl Strategy<Value = String> {
    (rate(), proptest::option::of(count())).prop_map(move |(rate, burst)| {
        let burst = burst.map(|burst| format!(" burst {burst}")).unwrap_or_default();
        format!("{rate}{burst}{suffix}")
    })
}

fn calendar() -> impl Strategy<Value = String> {
    let unit = select(&["day", "week", "month", "year"][..]);
    let zone =
        select(&["", " tz Europe/Amsterdam", " tz America/New_York", " tz Asia/Kolkata"][..]);
    (count(), unit, zone).prop_map(|(n, unit, zone)| format!("{n}/{unit}{zone}"))
}

fn counters() -> impl Strategy<Value = String> {
    let edge = select(&["", " edge strict", " edge lenient"][..]);
    (rate(), proptest::option::of(length()), edge).prop_map(|(rate, resolution, edge)| {
        let resolution = resolution.map(|r| format!(" resolution {r}")).unwrap_or_default();
        format!("{rate}{resolution}{edge}")
    })
}

fn fade() -> impl Strategy<Value = String> {
    let max = select(&["1", "1.2", "2.5", "10", "99.9", "1000000"][..]);
    let decay = select(&["1.001", "1.5", "2", "3.7", "10"][..]);
    (max, decay, length()).prop_map(|(max, decay, resolution)| {
        format!("max {max} decay {decay} resolution {resolution}")
    })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => Just(Act::Check),
        1 => Just(Act::Peek),
        1 => Just(Act::Refund),
        1 => Just(Act::Charge),
        1 => Just(Act::Reserve),
        1 => Just(Act::Settle),
        1 => Just(Act::Release),
        1 => Just(Act::Renew),
        1 => Just(Act::Reset),
    ]
}

fn cost(capacity: u64) -> impl Strategy<Value = u64> {
    let over = capacity.saturating_add(1).min(MAX_COST);
    prop_oneof![
        8 => Just(1_u64),
        1 => Just(0),
        4 => 1..=capacity,
        1 => Just(capacity),
        1 => over..=over.saturating_mul(2).min(MAX_COST),
    ]
}

/// Generates how time moves: mostly forward, sometimes not at all, sometimes back.
fn moves() -> impl Strategy<Value = (i64, i64)> {
    prop_oneof![
        4 => Just((0, 0)),
        4 => (1_i64..300, 0_i64..2),
        2 => (300_i64..1500, -1_i64..2),
        1 => (0_i64..1, 1_i64..1000),
        1 => (-800_i64..0, 0_i64..1),
    ]
}

/// Generates operations for a limit of this capacity in this many variants.
pub fn steps(capacity: u64, variants: usize) -> impl Strategy<Value = Vec<Step>> {
    steps_for(&[capacity], variants)
}

/// Generates operations for limits of these capacities in this many variants: mostly with one cost
/// for all of them, sometimes with one for each.
pub fn steps_for(capacities: &[u64], variants: usize) -> impl Strategy<Value = Vec<Step>> + use<> {
    let least = capacities.iter().copied().min().unwrap_or(1);
    let id = proptest::option::weighted(0.2, select(&["a", "b", "c"][..]));
    let variant = prop_oneof![4 => Just(0), 1 => 0..variants.max(1)];
    let step = (act(), cost(least), costs(capacities), id, moves(), variant);
    let step = step.prop_map(|(act, cost, costs, id, moves, variant)| {
        let id = if act.needs_id() { id.or(Some("a")) } else { id };
        Step { act, cost, costs, id, moves, variant }
    });
    proptest::collection::vec(step, 1..25)
}

/// Generates a cost for each of several limits, some of which take nothing; or none, so that all
/// take the same.
fn costs(capacities: &[u64]) -> BoxedStrategy<Vec<u64>> {
    let same = Just(Vec::new());
    if capacities.len() < 2 {
        return same.boxed();
    }
    let of_one = |capacity: &u64| prop_oneof![3 => cost(*capacity), 1 => Just(0)];
    let each: Vec<_> = capacities.iter().map(of_one).collect();
    prop_oneof![3 => same, 2 => each].boxed()
}

/// Generates the start of a case: near the epoch, in the present, around a change of clocks, and
/// near [`Time::MAX`].
pub(super) fn start() -> impl Strategy<Value = Time> {
    const SUMMER_TIME_BEGINS: u64 = 1_711_846_800_000_000;
    let last = Time::MAX.as_micros();
    let micros = prop_oneof![
        3 => 0_u64..1_000_000,
        3 => 1_700_000_000_000_000_u64..1_800_000_000_000_000,
        1 => SUMMER_TIME_BEGINS.saturating_sub(1)..SUMMER_TIME_BEGINS.saturating_add(2),
        1 => last.saturating_sub(1_000_000_000)..=last,
    ];
    micros.prop_map(|micros| Time::from_micros(micros).unwrap_or(Time::EPOCH))
}
