//! Ids: for a minute, a retry returns the first decision and is applied once.

use proptest::prelude::*;

use super::generate::{ALGORITHMS, Step, limit_line, start};
use super::{Suite, expect_decision};
use crate::{Act, Limit, Span, Time};

/// Returns when an id is forgotten: after a minute, or when its lease has ended.
fn forgotten_after(algorithm: &str, limits: &[Limit]) -> Span {
    const MINUTE: Span = Span::from_micros(60_000_000);
    let lease = limits
        .iter()
        .filter_map(Limit::full_reset_after)
        .min()
        .filter(|_| algorithm == "concurrency");
    lease.map_or(MINUTE, |lease| lease.min(MINUTE))
}

fn with_id(act: Act, cost: u64) -> Step {
    Step { id: Some("id"), ..Step::new(act, cost) }
}

impl Suite<'_> {
    /// Tests that an operation repeated with its id within a minute is applied once.
    pub fn ids_make_a_retry_safe(&self) {
        const ACTS: [Act; 4] = [Act::Check, Act::Reserve, Act::Charge, Act::Refund];
        for algorithm in ALGORITHMS {
            let act = proptest::sample::select(&ACTS[..]);
            let cases = (limit_line(algorithm), act, start());
            self.check_law(&format!("ids ({algorithm})"), &cases, |(line, act, start)| {
                let limits: Vec<Limit> = line.parse().into_iter().collect();
                let key = self.new_key();
                // The refund needs something to refund.
                expect_decision(key.apply(&limits, &Step::new(Act::Charge, 1), start))?;
                let first = expect_decision(key.apply(&limits, &with_id(act, 1), start))?;
                let left = key.peek(&limits, 1, start)?;
                let Some(gone) = start.checked_add(forgotten_after(algorithm, &limits)) else {
                    return Ok(());
                };
                let late = Time::at(gone.as_micros().saturating_sub(1));
                let after = key.peek(&limits, 1, late)?;
                if first.allowed {
                    prop_assert_eq!(
                        expect_decision(key.apply(&limits, &with_id(act, 1), late))?,
                        first
                    );
                    prop_assert_eq!(key.peek(&limits, 1, late)?, after, "applied twice");
                    prop_assert_eq!(key.peek(&limits, 1, start)?, left, "applied twice");
                }
                let fresh = expect_decision(key.apply(&limits, &with_id(act, 0), gone))?;
                prop_assert_eq!(fresh.remaining, key.peek(&limits, 0, gone)?.remaining);
                Ok(())
            });
        }
    }

    /// Tests that a settle and a reset are applied once, whatever happens in between.
    pub fn settle_and_reset_are_done_once(&self) {
        for algorithm in ALGORITHMS {
            let cases = (limit_line(algorithm), start());
            self.check_law(
                &format!("settle and reset once ({algorithm})"),
                &cases,
                |(line, start)| {
                    let limits: Vec<Limit> = line.parse().into_iter().collect();
                    for (act, cost) in [(Act::Settle, 0), (Act::Reset, 1)] {
                        let key = self.new_key();
                        let apply = |step: &Step| expect_decision(key.apply(&limits, step, start));
                        apply(&with_id(Act::Reserve, 1))?;
                        let first = apply(&with_id(act, cost))?;
                        apply(&Step::new(Act::Charge, 1))?;
                        let left = key.peek(&limits, 1, start)?;
                        prop_assert_eq!(apply(&with_id(act, cost))?, first, "{}", act);
                        prop_assert_eq!(
                            key.peek(&limits, 1, start)?,
                            left,
                            "{} applied twice",
                            act
                        );
                    }
                    Ok(())
                },
            );
        }
    }

    /// Tests that an id can be used again after its lease was released or its key reset.
    pub fn release_and_reset_forget_ids(&self) {
        let cases = (limit_line("concurrency"), start());
        self.check_law("release forgets the id", &cases, |(line, start)| {
            let limits: Vec<Limit> = line.parse().into_iter().collect();
            for forget in [Act::Release, Act::Reset] {
                let key = self.new_key();
                let apply = |act| expect_decision(key.apply(&limits, &with_id(act, 1), start));
                let first = apply(Act::Check)?;
                let forgotten = apply(forget)?;
                prop_assert_eq!(forgotten.remaining, forgotten.limit);
                prop_assert_eq!(apply(Act::Check)?, first);
                prop_assert_eq!(key.peek(&limits, 1, start)?.remaining, first.remaining);
            }
            Ok(())
        });
    }
}
