//! Ids: for a minute, a retry returns the first decision and is applied once.

use proptest::prelude::*;

use super::generate::{ALGORITHMS, Step, limit_line, start};
use super::{Suite, TestKey, expect_ok};
use crate::{Act, Algorithm, Decision, Limit, LimitStatuses, Span, Time};

/// One or two limits, and the cost of each.
#[derive(Debug)]
struct Costly {
    lines: Vec<String>,
    costs: Vec<u64>,
}

/// Generates limits, the first of this algorithm, at least one of which takes something.
fn costly(algorithm: &'static str) -> impl Strategy<Value = Costly> {
    let any = proptest::sample::select(&ALGORITHMS[..]).prop_flat_map(limit_line);
    let alone = limit_line(algorithm).prop_map(|line| Costly { lines: vec![line], costs: vec![1] });
    let costs = proptest::sample::select(&[[1, 1], [0, 1], [1, 0], [2, 1]][..]);
    let beside = (limit_line(algorithm), any, costs).prop_map(|(first, second, costs)| Costly {
        lines: vec![first, second],
        costs: costs.into(),
    });
    prop_oneof![2 => alone, 1 => beside]
}

impl Costly {
    fn limits(&self) -> Vec<Limit> {
        self.lines.iter().filter_map(|line| line.parse().ok()).collect()
    }

    fn step(&self, act: Act) -> Step {
        Step { costs: self.costs.clone(), ..Step::new(act, 0) }
    }

    fn with_id(&self, act: Act) -> Step {
        Step { id: Some("id"), ..self.step(act) }
    }
}

/// Returns when an id is forgotten: after a minute, or when the first lease that a check or reserve took under it has
/// ended.
fn forgotten_after(step: &Step, limits: &[Limit]) -> Span {
    const MINUTE: Span = Span::from_micros(60_000_000);
    let takes = matches!(step.act, Act::Check | Act::Reserve);
    let is_lease = |(position, limit): &(usize, &Limit)| {
        takes && limit.algorithm() == Algorithm::Concurrency && step.cost_at(*position) > 0
    };
    let leases = limits.iter().enumerate().filter(is_lease);
    leases.filter_map(|(_, limit)| limit.full_reset_after()).fold(MINUTE, Span::min)
}

fn with_id(act: Act, cost: u64) -> Step {
    Step { id: Some("id"), ..Step::new(act, cost) }
}

/// Applies an operation that is remembered. It has no statuses: the limits are not looked at.
fn retry(
    key: &TestKey<'_>,
    limits: &[Limit],
    step: &Step,
    at: Time,
) -> Result<Decision, TestCaseError> {
    let statuses = LimitStatuses::default();
    let decision = expect_ok(key.decide(limits, step, at, Some(&statuses)))?;
    prop_assert_eq!(statuses.to_vec(), [], "{} was not remembered", step.act);
    Ok(decision)
}

impl Suite<'_> {
    /// Tests that an operation repeated with its id within a minute is applied once.
    pub fn ids_make_a_retry_safe(&self) {
        const ACTS: [Act; 4] = [Act::Check, Act::Reserve, Act::Charge, Act::Refund];
        for algorithm in ALGORITHMS {
            let cases = (costly(algorithm), proptest::sample::select(&ACTS[..]), start());
            self.check_law(&format!("ids ({algorithm})"), &cases, |(costly, act, start)| {
                let (limits, step) = (costly.limits(), costly.with_id(act));
                let key = self.new_key();
                // The refund needs something to refund.
                expect_ok(key.apply(&limits, &costly.step(Act::Charge), start))?;
                let first = expect_ok(key.apply(&limits, &step, start))?.decision;
                let left = key.peek(&limits, 1, start)?;
                let Some(gone) = start.checked_add(forgotten_after(&step, &limits)) else {
                    return Ok(());
                };
                let late = Time::at(gone.as_micros().saturating_sub(1));
                let after = key.peek(&limits, 1, late)?;
                if first.allowed {
                    prop_assert_eq!(retry(&key, &limits, &step, late)?, first);
                    prop_assert_eq!(key.peek(&limits, 1, late)?, after, "applied twice");
                    prop_assert_eq!(key.peek(&limits, 1, start)?, left, "applied twice");
                }
                let fits = expect_ok(key.apply(&limits, &step.as_peek(), gone))?.allowed();
                let statuses = LimitStatuses::default();
                let fresh = expect_ok(key.decide(&limits, &step, gone, Some(&statuses)))?;
                prop_assert_eq!(statuses.to_vec().len(), limits.len(), "still remembered");
                prop_assert_eq!(fresh.allowed, fits || !act.can_be_denied());
                Ok(())
            });
        }
    }

    /// Tests that a settle and a reset are applied once, whatever happens in between.
    pub fn settle_and_reset_are_done_once(&self) {
        for algorithm in ALGORITHMS {
            let cases = (costly(algorithm), start());
            let law = format!("settle and reset once ({algorithm})");
            self.check_law(&law, &cases, |(costly, start)| {
                let limits = costly.limits();
                for repeated in [with_id(Act::Settle, 0), costly.with_id(Act::Reset)] {
                    let key = self.new_key();
                    let apply = |step: &Step| expect_ok(key.apply(&limits, step, start));
                    if !apply(&costly.with_id(Act::Reserve))?.allowed() {
                        return Ok(());
                    }
                    let first = apply(&repeated)?.decision;
                    apply(&costly.step(Act::Charge))?;
                    let left = key.peek(&limits, 1, start)?;
                    prop_assert_eq!(retry(&key, &limits, &repeated, start)?, first);
                    prop_assert_eq!(key.peek(&limits, 1, start)?, left, "applied twice");
                }
                Ok(())
            });
        }
    }

    /// Tests that an id can be used again after its lease was released or its key reset.
    pub fn release_and_reset_forget_ids(&self) {
        let cases = (limit_line("concurrency"), start());
        self.check_law("release forgets the id", &cases, |(line, start)| {
            let limits: Vec<Limit> = line.parse().into_iter().collect();
            for forget in [Act::Release, Act::Reset] {
                let key = self.new_key();
                let apply = |act| -> Result<Decision, TestCaseError> {
                    Ok(expect_ok(key.apply(&limits, &with_id(act, 1), start))?.decision)
                };
                let first = apply(Act::Check)?;
                let forgotten = apply(forget)?;
                prop_assert_eq!(forgotten.remaining, forgotten.limit);
                prop_assert_eq!(apply(Act::Check)?, first);
                let left = key.peek(&limits, 1, start)?.decision.remaining;
                prop_assert_eq!(left, first.remaining);
            }
            Ok(())
        });
    }
}
