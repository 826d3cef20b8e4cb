//! Reservations: settling them leaves the key as if the actual costs had been charged in the first
//! place, or stricter.

use proptest::prelude::*;

use super::generate::{ALGORITHMS, Step, limit_line, start};
use super::{Suite, TestKey, expect_ok};
use crate::{Act, Limit, LimitStatus, MAX_COST, Time};

/// The same events for two keys: one reserves estimates and settles them at the end, the other is
/// charged the actual costs at once.
#[derive(Debug)]
struct Scenario {
    line: String,
    /// How often the limit occurs: once or twice.
    times: usize,
    start: Time,
    events: Vec<Event>,
    /// The time before each settle, in thousandths of the time a full key takes to reset.
    wait: i64,
}

/// An event that happens to both keys.
#[derive(Debug)]
struct Event {
    act: Act,
    /// The cost of each limit.
    costs: Vec<u64>,
    /// The actual costs of a reservation.
    actual: Vec<u64>,
    /// The time since the event before, in thousandths of the time a full key takes to reset.
    permille: i64,
}

/// A reservation that is to be settled: its id and the actual costs.
type Open = (&'static str, Vec<u64>);

/// The ids of the reservations; there is at most one reservation for each.
const IDS: [&str; 4] = ["r0", "r1", "r2", "r3"];
/// How long a reservation can be settled; after that it stands as charged.
const RESERVATION_TTL: u64 = 3_600_000_000;

fn event(acts: &'static [Act]) -> impl Strategy<Value = Event> {
    let act = proptest::sample::select(acts);
    let costs = || proptest::collection::vec(0_u64..12, 2);
    (act, costs(), costs(), 0_i64..300).prop_map(|(act, costs, actual, permille)| Event {
        act,
        costs,
        actual,
        permille,
    })
}

fn scenario(line: BoxedStrategy<String>, acts: &'static [Act]) -> impl Strategy<Value = Scenario> {
    let events = proptest::collection::vec(event(acts), 1..9);
    let times = prop_oneof![2 => Just(1_usize), 1 => Just(2)];
    let parts = (line, times, start(), events, 0_i64..900);
    parts.prop_map(|(line, times, start, mut events, wait)| {
        let mut reserved = 0_usize;
        events.retain(|event| {
            reserved = reserved.saturating_add(usize::from(event.act == Act::Reserve));
            event.act != Act::Reserve || reserved <= IDS.len()
        });
        Scenario { line, times, start, events, wait }
    })
}

fn step(act: Act, costs: &[u64], id: Option<&'static str>, permille: i64) -> Step {
    Step { costs: costs.to_vec(), id, moves: (permille, 0), ..Step::new(act, 0) }
}

impl Suite<'_> {
    /// Tests that the key that was charged at once never has less room than the one that settled.
    ///
    /// Buckets that leak at intervals and windows that open with a request are left out. Their
    /// intervals started with the reservation and are not moved back, so cost taken meanwhile may
    /// leave up to one interval sooner than if the reservation had never been made. Of a level that
    /// decays, what is below a millionth of its `max` is lost: up to one unit with each
    /// reservation.
    pub fn settling_is_never_more_generous(&self) {
        let has_no_interval = |name: &&str| !matches!(*name, "leaky-bucket" | "request-window");
        for algorithm in ALGORITHMS.into_iter().filter(has_no_interval) {
            let flows = limit_line(algorithm).prop_filter("drips", |line| !line.contains("whole"));
            let cases = scenario(flows.boxed(), &[Act::Reserve, Act::Charge, Act::Refund]);
            let law = format!("settling is never more generous ({algorithm})");
            let lost = if algorithm == "ar1" { IDS.len() as u64 } else { 0 };
            self.check_law(&law, &cases, |scenario| {
                self.compare_keys(&scenario, false, |settled, charged| {
                    let room = charged.remaining.unwrap_or(0).saturating_add(lost);
                    let stricter = settled.remaining <= Some(room);
                    prop_assert!(stricter, "settled {:?}, charged {:?}", settled, charged);
                    Ok(())
                })
            });
        }
    }

    /// Tests that settling is exact while other cost remains. (A level that decays is a double, so
    /// it is only as exact as doubles are.)
    pub fn settling_is_exact_over_other_cost(&self) {
        for algorithm in ALGORITHMS.into_iter().filter(|name| *name != "ar1") {
            let cases = scenario(limit_line(algorithm), &[Act::Reserve, Act::Charge]);
            let law = format!("settling is exact over other cost ({algorithm})");
            self.check_law(&law, &cases, |scenario| {
                self.compare_keys(&scenario, true, |settled, charged| {
                    prop_assert_eq!(settled.remaining, charged.remaining);
                    prop_assert_eq!(settled.reset_after, charged.reset_after);
                    Ok(())
                })
            });
        }
    }

    /// Tests that reservations that are open together give back all that was too much, in whatever order
    /// they are settled, if nothing has drained meanwhile.
    pub fn reservations_that_overlap_give_back_all(&self) {
        let costs =
            (0_u64..12, 0_u64..12).prop_map(|(one, other)| (one.max(other), one.min(other)));
        let costs = proptest::collection::vec(costs, 2..=IDS.len());
        let order = proptest::collection::vec(any::<proptest::sample::Index>(), IDS.len());
        for algorithm in ALGORITHMS {
            let cases = (limit_line(algorithm), start(), costs.clone(), order.clone());
            let law = format!("reservations that overlap give back all ({algorithm})");
            self.check_law(&law, &cases, |(line, start, costs, order)| {
                let limits: Vec<Limit> = line.parse().into_iter().collect();
                let (key, twin) = (self.new_key(), self.new_key());
                let mut open = Vec::new();
                for (id, (estimate, actual)) in IDS.into_iter().zip(costs) {
                    let reserve = step(Act::Reserve, &[estimate], Some(id), 0);
                    if !expect_ok(key.apply(&limits, &reserve, start))?.allowed() {
                        return Ok(());
                    }
                    expect_ok(twin.apply(&limits, &step(Act::Charge, &[actual], None, 0), start))?;
                    open.push((id, actual));
                }
                for next in order.iter().take(open.len()) {
                    let (id, actual) = open.swap_remove(next.index(open.len()));
                    let settle = step(Act::Settle, &[actual], Some(id), 0);
                    expect_ok(key.apply(&limits, &settle, start))?;
                }
                prop_assert_eq!(key.peek(&limits, 1, start)?, twin.peek(&limits, 1, start)?);
                Ok(())
            });
        }
    }

    /// Applies the events to both keys and compares each limit at several instants after all is
    /// settled.
    /// With `beneath` both have other cost too, more than can drain meanwhile.
    ///
    /// The debt may be too large, and a reservation may be denied: then there is nothing to
    /// compare.
    fn compare_keys(
        &self,
        scenario: &Scenario,
        beneath: bool,
        compare: impl Fn(LimitStatus, LimitStatus) -> Result<(), TestCaseError>,
    ) -> Result<(), TestCaseError> {
        let lines = std::iter::repeat_n(&scenario.line, scenario.times);
        let limits: Vec<Limit> = lines.filter_map(|line| line.parse().ok()).collect();
        let keys = (&self.new_key(), &self.new_key());
        let Some((mut now, open)) = apply_events(keys, &limits, scenario, beneath) else {
            return Ok(());
        };
        for (id, actual) in open {
            let settle = step(Act::Settle, &actual, Some(id), scenario.wait);
            now = settle.time(&limits, now);
            if now.since(scenario.start).as_micros() >= RESERVATION_TTL
                || keys.0.apply(&limits, &settle, now).is_err()
            {
                return Ok(());
            }
        }
        compare_later(&limits, keys, now, compare)
    }
}

/// Applies the events to both keys. Returns the instant after them, and what is to be settled.
///
/// With other cost `beneath`, all reservations are made at the start, while there is room for them.
fn apply_events(
    keys: (&TestKey<'_>, &TestKey<'_>),
    limits: &[Limit],
    scenario: &Scenario,
    beneath: bool,
) -> Option<(Time, Vec<Open>)> {
    let (reserved, others): (Vec<&Event>, Vec<&Event>) =
        scenario.events.iter().partition(|event| beneath && event.act == Act::Reserve);
    let (mut now, mut ids, mut open) = (scenario.start, IDS.iter(), Vec::new());
    for event in reserved {
        open.push(reserve(keys, limits, event, ids.next()?, now)?);
    }
    if beneath {
        let lasting: Vec<u64> = limits.iter().map(lasting_cost).collect();
        apply_to_both(keys, limits, &step(Act::Charge, &lasting, None, 0), now).then_some(())?;
    }
    for event in others {
        let other = step(event.act, &event.costs, None, event.permille);
        now = other.time(limits, now);
        match event.act {
            Act::Reserve => open.push(reserve(keys, limits, event, ids.next()?, now)?),
            _ => apply_to_both(keys, limits, &other, now).then_some(())?,
        }
    }
    Some((now, open))
}

/// Reserves the estimate on one key and charges the actual cost to the other.
fn reserve(
    keys: (&TestKey<'_>, &TestKey<'_>),
    limits: &[Limit],
    event: &Event,
    id: &'static str,
    now: Time,
) -> Option<Open> {
    let reserve = step(Act::Reserve, &event.costs, Some(id), 0);
    let reserved = keys.0.apply(limits, &reserve, now).ok()?;
    let charge = step(Act::Charge, &event.actual, None, 0);
    let charged = keys.1.apply(limits, &charge, now).ok()?;
    (reserved.allowed() && charged.allowed()).then_some((id, event.actual.clone()))
}

fn apply_to_both(
    keys: (&TestKey<'_>, &TestKey<'_>),
    limits: &[Limit],
    step: &Step,
    now: Time,
) -> bool {
    keys.0.apply(limits, step, now).is_ok() && keys.1.apply(limits, step, now).is_ok()
}

/// Returns more cost than can drain in a scenario.
fn lasting_cost(limit: &Limit) -> u64 {
    let drip = limit.leak().map(|(_, drip, _)| drip);
    let max = limit.capacity().max(drip).unwrap_or(0);
    max.saturating_mul(12).saturating_add(1000).min(MAX_COST)
}

fn compare_later(
    limits: &[Limit],
    (key, twin): (&TestKey<'_>, &TestKey<'_>),
    now: Time,
    compare: impl Fn(LimitStatus, LimitStatus) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    for permille in [0, 1, 10, 100, 250, 500, 900] {
        let at = step(Act::Peek, &[], None, permille).time(limits, now);
        let (key, twin) = (key.peek(limits, 1, at)?, twin.peek(limits, 1, at)?);
        for (settled, charged) in key.statuses.into_iter().zip(twin.statuses) {
            compare(settled, charged)?;
        }
    }
    Ok(())
}
