//! Reservations: settling them leaves the key as if the actual costs had been charged in the first
//! place, or stricter.

use proptest::prelude::*;

use super::generate::{ALGORITHMS, Step, limit_line, start};
use super::{Asker, Suite};
use crate::{Act, Decision, Limit, MAX_COST, Time};

/// Two keys that live through the same: one reserves estimates and settles them at last, the other
/// is charged the actual costs at once.
#[derive(Debug)]
struct Life {
    line: String,
    start: Time,
    events: Vec<Event>,
    /// How long until all is settled.
    wait: i64,
}

/// Something that happens to both, so long after what came before.
#[derive(Debug)]
struct Event {
    act: Act,
    cost: u64,
    /// What a reservation turns out to have cost.
    actual: u64,
    permille: i64,
}

/// The most reservations of one life.
const IDS: [&str; 4] = ["r0", "r1", "r2", "r3"];
/// How long a reservation can be settled; after that it stands as charged.
const RESERVATION_TTL: u64 = 3_600_000_000;

fn event(acts: &'static [Act]) -> impl Strategy<Value = Event> {
    let act = proptest::sample::select(acts);
    (act, 0_u64..12, 0_u64..12, 0_i64..300).prop_map(|(act, cost, actual, permille)| Event {
        act,
        cost,
        actual,
        permille,
    })
}

fn life(line: BoxedStrategy<String>, acts: &'static [Act]) -> impl Strategy<Value = Life> {
    let events = proptest::collection::vec(event(acts), 1..9);
    (line, start(), events, 0_i64..900).prop_map(|(line, start, mut events, wait)| {
        let mut reserved = 0_usize;
        events.retain(|event| {
            reserved = reserved.saturating_add(usize::from(event.act == Act::Reserve));
            event.act != Act::Reserve || reserved <= IDS.len()
        });
        Life { line, start, events, wait }
    })
}

fn step(act: Act, cost: u64, id: Option<&'static str>, permille: i64) -> Step {
    Step { id, moves: (permille, 0), ..Step::new(act, cost) }
}

impl Suite<'_> {
    /// The key that was charged at once never has less room than the one that settled.
    ///
    /// Not asked of buckets that drip and windows that open with a request. Their rhythm began
    /// with the reservation and is not wound back, so what others took meanwhile may leave them up
    /// to one interval sooner than if the reservation had never been. And of a level that fades,
    /// what is below a millionth of its `max` is lost: up to one unit with each reservation.
    pub fn settling_is_never_more_generous(&self) {
        let no_rhythm = |name: &&str| !matches!(*name, "leaky-bucket" | "request-window");
        for algorithm in ALGORITHMS.into_iter().filter(no_rhythm) {
            let flows = limit_line(algorithm).prop_filter("drips", |line| !line.contains("whole"));
            let cases = life(flows.boxed(), &[Act::Reserve, Act::Charge, Act::Refund]);
            let law = format!("settling is never more generous ({algorithm})");
            let lost = if algorithm == "ar1" { IDS.len() as u64 } else { 0 };
            self.hold(&law, &cases, |life| {
                self.live(&life, false, |settled, charged| {
                    let room = charged.remaining.unwrap_or(0).saturating_add(lost);
                    let stricter = settled.remaining <= Some(room);
                    prop_assert!(stricter, "settled {:?}, charged {:?}", settled, charged);
                    Ok(())
                })
            });
        }
    }

    /// While other cost remains beneath it, settling is exact. (A level that fades is a double, so
    /// there it is as near as doubles are.)
    pub fn settling_is_exact_over_other_cost(&self) {
        for algorithm in ALGORITHMS.into_iter().filter(|name| *name != "ar1") {
            let cases = life(limit_line(algorithm), &[Act::Reserve, Act::Charge]);
            let law = format!("settling is exact over other cost ({algorithm})");
            self.hold(&law, &cases, |life| {
                self.live(&life, true, |settled, charged| {
                    prop_assert_eq!(settled.remaining, charged.remaining);
                    prop_assert_eq!(settled.reset_after, charged.reset_after);
                    Ok(())
                })
            });
        }
    }

    /// Lives both lives and compares them at several instants after all is settled; `beneath` it
    /// there may be other cost, more than can drain meanwhile.
    ///
    /// A debt that is too large is refused, and a reservation may be denied: then there is nothing
    /// to compare.
    fn live(
        &self,
        life: &Life,
        beneath: bool,
        compare: impl Fn(Decision, Decision) -> Result<(), TestCaseError>,
    ) -> Result<(), TestCaseError> {
        let limits: Vec<Limit> = life.line.parse().into_iter().collect();
        let keys = (&self.key(), &self.key());
        let Some((mut now, open)) = happen(keys, &limits, life, beneath) else { return Ok(()) };
        for (id, actual) in open {
            let settle = step(Act::Settle, actual, Some(id), life.wait);
            now = settle.time(&limits, now);
            if now.since(life.start).as_micros() >= RESERVATION_TTL
                || keys.0.ask(&limits, &settle, now).is_err()
            {
                return Ok(());
            }
        }
        compare_later(&limits, keys, now, compare)
    }
}

/// Does the events to both keys. Answers when it is then, and what is to be settled.
///
/// With other cost `beneath`, all is reserved at the start, while there is room for it.
fn happen(
    keys: (&Asker<'_>, &Asker<'_>),
    limits: &[Limit],
    life: &Life,
    beneath: bool,
) -> Option<(Time, Vec<(&'static str, u64)>)> {
    let (reserved, others): (Vec<&Event>, Vec<&Event>) =
        life.events.iter().partition(|event| beneath && event.act == Act::Reserve);
    let (mut now, mut ids, mut open) = (life.start, IDS.iter(), Vec::new());
    for event in reserved {
        open.push(reserve(keys, limits, event, ids.next()?, now)?);
    }
    if beneath {
        both(keys, limits, &step(Act::Charge, lasting(limits), None, 0), now).then_some(())?;
    }
    for event in others {
        let other = step(event.act, event.cost, None, event.permille);
        now = other.time(limits, now);
        match event.act {
            Act::Reserve => open.push(reserve(keys, limits, event, ids.next()?, now)?),
            _ => both(keys, limits, &other, now).then_some(())?,
        }
    }
    Some((now, open))
}

/// Reserves the estimate of one key and charges the actual cost to the other.
fn reserve(
    keys: (&Asker<'_>, &Asker<'_>),
    limits: &[Limit],
    event: &Event,
    id: &'static str,
    now: Time,
) -> Option<(&'static str, u64)> {
    let reserved = keys.0.ask(limits, &step(Act::Reserve, event.cost, Some(id), 0), now).ok()?;
    let charge = step(Act::Charge, event.actual, None, 0);
    let charged = keys.1.ask(limits, &charge, now).ok()?;
    (reserved.allowed && charged.allowed).then_some((id, event.actual))
}

fn both(keys: (&Asker<'_>, &Asker<'_>), limits: &[Limit], step: &Step, now: Time) -> bool {
    keys.0.ask(limits, step, now).is_ok() && keys.1.ask(limits, step, now).is_ok()
}

/// More than can drain in the course of a life.
fn lasting(limits: &[Limit]) -> u64 {
    let capacities = limits.iter().filter_map(Limit::capacity);
    let drips = limits.iter().filter_map(Limit::leak).map(|(_, drip, _)| drip);
    let most = capacities.chain(drips).max().unwrap_or(0);
    most.saturating_mul(12).saturating_add(1000).min(MAX_COST)
}

fn compare_later(
    limits: &[Limit],
    (key, twin): (&Asker<'_>, &Asker<'_>),
    now: Time,
    compare: impl Fn(Decision, Decision) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    for permille in [0, 1, 10, 100, 250, 500, 900] {
        let at = step(Act::Peek, 1, None, permille).time(limits, now);
        compare(key.peek(limits, 1, at)?, twin.peek(limits, 1, at)?)?;
    }
    Ok(())
}
