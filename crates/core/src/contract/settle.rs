//! Reservations: settling one leaves the key as if the actual cost had been charged in the first
//! place, or stricter.

use proptest::prelude::*;

use super::generate::{ALGORITHMS, Step, limit_line, start};
use super::{Asker, Suite, sure};
use crate::{Act, Decision, Limit, MAX_COST, Time};

/// Two keys that live through the same: one reserves an estimate and settles it, the other is
/// charged the actual cost at once.
#[derive(Debug)]
struct Life {
    line: String,
    start: Time,
    estimate: u64,
    actual: u64,
    /// What comes in between, and how long after what came before.
    between: Vec<(Act, u64, i64)>,
    wait: i64,
}

fn life(line: BoxedStrategy<String>, acts: &'static [Act]) -> impl Strategy<Value = Life> {
    let other = (proptest::sample::select(acts), 1_u64..10, 0_i64..300);
    let between = proptest::collection::vec(other, 0..6);
    (line, start(), 1_u64..12, 0_u64..12, between, 0_i64..900).prop_map(
        |(line, start, estimate, actual, between, wait)| Life {
            line,
            start,
            estimate,
            actual,
            between,
            wait,
        },
    )
}

fn step(act: Act, cost: u64, id: Option<&'static str>, permille: i64) -> Step {
    Step { id, moves: (permille, 0), ..Step::new(act, cost) }
}

/// How long a reservation is remembered; what is settled later stands as charged.
const REMEMBERED: u64 = 60_000_000;

impl Suite<'_> {
    /// The key that was charged at once never has less room than the one that settled.
    ///
    /// Not asked of buckets that drip and windows that open with a request. Their rhythm began
    /// with the reservation and is not wound back, so what others took meanwhile may leave them up
    /// to one interval sooner than if the reservation had never been.
    pub fn settling_is_never_more_generous(&self) {
        let keeps_a_rhythm = |name: &&str| !matches!(*name, "leaky-bucket" | "request-window");
        for algorithm in ALGORITHMS.into_iter().filter(keeps_a_rhythm) {
            let flows = limit_line(algorithm).prop_filter("drips", |line| !line.contains("whole"));
            let cases = life(flows.boxed(), &[Act::Charge, Act::Refund]);
            let law = format!("settling is never more generous ({algorithm})");
            self.hold(&law, &cases, |life| {
                self.live(&life, false, |settled, charged| {
                    let stricter = settled.remaining <= charged.remaining;
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
            let cases = life(limit_line(algorithm), &[Act::Charge]);
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

    /// Lives both lives and compares them at several instants after the reservation is settled;
    /// `beneath` it there may be other cost, more than can drain meanwhile.
    fn live(
        &self,
        life: &Life,
        beneath: bool,
        compare: impl Fn(Decision, Decision) -> Result<(), TestCaseError>,
    ) -> Result<(), TestCaseError> {
        let limits: Vec<Limit> = life.line.parse().into_iter().collect();
        let (key, twin) = (self.key(), self.key());
        let both = |step: &Step, now| -> Result<bool, TestCaseError> {
            let answers = (key.ask(&limits, step, now), twin.ask(&limits, step, now));
            Ok(answers.0.is_ok() && answers.1.is_ok())
        };
        let reserved = step(Act::Reserve, life.estimate, Some("r"), 0);
        if !sure(key.ask(&limits, &reserved, life.start))?.allowed {
            return Ok(());
        }
        // A debt that is too large is refused, and there is nothing to compare.
        if twin.ask(&limits, &step(Act::Charge, life.actual, None, 0), life.start).is_err() {
            return Ok(());
        }
        let capacities = limits.iter().filter_map(Limit::capacity);
        let drips = limits.iter().filter_map(Limit::leak).map(|(_, drip, _)| drip);
        let lasting = capacities
            .chain(drips)
            .max()
            .unwrap_or(0)
            .saturating_mul(4)
            .saturating_add(100)
            .min(MAX_COST);
        if beneath && !both(&step(Act::Charge, lasting, None, 0), life.start)? {
            return Ok(());
        }
        let mut now = life.start;
        for (act, cost, permille) in &life.between {
            let other = step(*act, *cost, None, *permille);
            now = other.time(&limits, now);
            if !both(&other, now)? {
                return Ok(());
            }
        }
        let settle = step(Act::Settle, life.actual, Some("r"), life.wait);
        now = settle.time(&limits, now);
        if now.since(life.start).as_micros() >= REMEMBERED {
            return Ok(());
        }
        if key.ask(&limits, &settle, now).is_err() {
            return Ok(());
        }
        compare_later(&limits, (&key, &twin), now, compare)
    }
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
