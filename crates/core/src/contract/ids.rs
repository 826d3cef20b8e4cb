//! Ids: a retry is answered as the first time and done once, for a minute.

use proptest::prelude::*;

use super::generate::{ALGORITHMS, Step, limit_line, start};
use super::{Suite, sure};
use crate::{Act, Limit, Span, Time};

/// When an id is forgotten: after a minute, or when the lease that it names has ended.
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
    /// An operation that took or gave something, repeated with its id within a minute.
    pub fn ids_make_a_retry_safe(&self) {
        const ACTS: [Act; 4] = [Act::Check, Act::Reserve, Act::Charge, Act::Refund];
        for algorithm in ALGORITHMS {
            let act = proptest::sample::select(&ACTS[..]);
            let cases = (limit_line(algorithm), act, start());
            self.hold(&format!("ids ({algorithm})"), &cases, |(line, act, start)| {
                let limits: Vec<Limit> = line.parse().into_iter().collect();
                let key = self.key();
                // Something to give back, for the refund.
                sure(key.ask(&limits, &Step::new(Act::Charge, 1), start))?;
                let first = sure(key.ask(&limits, &with_id(act, 1), start))?;
                let left = key.peek(&limits, 1, start)?;
                let Some(gone) = start.checked_add(forgotten_after(algorithm, &limits)) else {
                    return Ok(());
                };
                let late = Time::at(gone.as_micros().saturating_sub(1));
                let after = key.peek(&limits, 1, late)?;
                if first.allowed {
                    prop_assert_eq!(sure(key.ask(&limits, &with_id(act, 1), late))?, first);
                    prop_assert_eq!(key.peek(&limits, 1, late)?, after, "done twice");
                    prop_assert_eq!(key.peek(&limits, 1, start)?, left, "done twice");
                }
                let fresh = sure(key.ask(&limits, &with_id(act, 0), gone))?;
                prop_assert_eq!(fresh.remaining, key.peek(&limits, 0, gone)?.remaining);
                Ok(())
            });
        }
    }

    /// Settling and resetting are done once too, whatever comes between.
    pub fn settle_and_reset_are_done_once(&self) {
        for algorithm in ALGORITHMS {
            let cases = (limit_line(algorithm), start());
            self.hold(&format!("settle and reset once ({algorithm})"), &cases, |(line, start)| {
                let limits: Vec<Limit> = line.parse().into_iter().collect();
                for (act, cost) in [(Act::Settle, 0), (Act::Reset, 1)] {
                    let key = self.key();
                    let ask = |step: &Step| sure(key.ask(&limits, step, start));
                    ask(&with_id(Act::Reserve, 1))?;
                    let first = ask(&with_id(act, cost))?;
                    ask(&Step::new(Act::Charge, 1))?;
                    let left = key.peek(&limits, 1, start)?;
                    prop_assert_eq!(ask(&with_id(act, cost))?, first, "{}", act);
                    prop_assert_eq!(key.peek(&limits, 1, start)?, left, "{} done twice", act);
                }
                Ok(())
            });
        }
    }

    /// A lease that was released can be taken again under the same id, and so can everything once
    /// the key is reset.
    pub fn release_and_reset_forget_ids(&self) {
        let cases = (limit_line("concurrency"), start());
        self.hold("release forgets the id", &cases, |(line, start)| {
            let limits: Vec<Limit> = line.parse().into_iter().collect();
            for forget in [Act::Release, Act::Reset] {
                let key = self.key();
                let ask = |act| sure(key.ask(&limits, &with_id(act, 1), start));
                let first = ask(Act::Check)?;
                let forgotten = ask(forget)?;
                prop_assert_eq!(forgotten.remaining, forgotten.limit);
                prop_assert_eq!(ask(Act::Check)?, first);
                prop_assert_eq!(key.peek(&limits, 1, start)?.remaining, first.remaining);
            }
            Ok(())
        });
    }
}
