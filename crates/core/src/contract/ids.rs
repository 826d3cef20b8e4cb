//! Ids: a retry is answered as the first time and done once, for a minute.

use proptest::prelude::*;

use super::generate::{ALGORITHMS, Step, limit_line, start};
use super::{Suite, sure};
use crate::{Act, Limit, Span};

/// A tick before an id is forgotten, and when it is.
const LAST: Span = Span::from_micros(59_999_999);
const GONE: Span = Span::from_micros(60_000_000);

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
                let late = start.after(LAST);
                let after = key.peek(&limits, 1, late)?;
                if first.allowed {
                    prop_assert_eq!(sure(key.ask(&limits, &with_id(act, 1), late))?, first);
                    prop_assert_eq!(key.peek(&limits, 1, late)?, after, "done twice");
                    prop_assert_eq!(key.peek(&limits, 1, start)?, left, "done twice");
                }
                let gone = start.after(GONE);
                let fresh = sure(key.ask(&limits, &with_id(act, 0), gone))?;
                prop_assert_eq!(fresh.remaining, key.peek(&limits, 0, gone)?.remaining);
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
