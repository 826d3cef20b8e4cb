//! Leases and the ids they were taken under: a retry never says that a caller holds what another may hold by now.

use proptest::prelude::*;

use super::Suite;
use super::case::{TestResult, later, parsed};
use super::follow_ups::{Asked, step};
use super::generate::{limit_line, start};
use crate::{Act, Limit, Span, Time};

/// How an operation that takes leases, and what ends them before their time.
const ENDS: [(Act, Act); 4] = [
    (Act::Check, Act::Refund),
    (Act::Reserve, Act::Refund),
    (Act::Reserve, Act::Settle),
    (Act::Check, Act::Release),
];

/// How long an id is remembered.
const MINUTE: Span = Span::from_micros(60_000_000);

impl Asked<'_, '_> {
    fn ttl(&self) -> Span {
        self.limits.iter().filter_map(Limit::full_reset_after).min().unwrap_or_default()
    }

    /// Returns the most that can be held.
    fn capacity(&self) -> u64 {
        self.limits.iter().filter_map(Limit::capacity).min().unwrap_or_default()
    }

    fn is_denied(&self, act: Act, id: &'static str, cost: u64, at: Time) -> TestResult {
        let decision = self.apply(&step(act, id, &[cost]), at)?;
        prop_assert!(!decision.allowed, "{} {} twice: {:?}", act, id, decision);
        Ok(())
    }
}

impl Suite<'_> {
    /// Tests that a check or reserve whose lease has ended is decided afresh under its id: it is denied while another
    /// holds the lease, and takes one when that is released.
    pub fn a_lease_that_has_ended_is_not_remembered(&self) {
        let ends = proptest::sample::select(&ENDS[..]);
        let cases = (limit_line("concurrency"), ends, start());
        let law = "a lease that has ended is not remembered";
        self.check_law(law, &cases, |(line, (take, end), start)| {
            let asked = Asked { key: &self.new_key(), limits: parsed(&[line]) };
            let all = asked.capacity();
            asked.finds(&step(take, "first", &[all]), start)?;
            let given_back = if end == Act::Refund { all } else { 0 };
            asked.finds(&step(end, "first", &[given_back]), start)?;
            asked.finds(&step(Act::Check, "second", &[all]), start)?;
            asked.is_denied(take, "first", all, start)?;
            asked.finds(&step(Act::Release, "second", &[]), start)?;
            asked.finds(&step(take, "first", &[all]), start)?;
            asked.is_denied(Act::Check, "second", all, start)
        });
    }

    /// Tests that a check is remembered for as long as its lease was renewed, and takes it once.
    pub fn a_renewed_lease_is_remembered(&self) {
        let cases = (limit_line("concurrency"), start());
        self.check_law("a renewed lease is remembered", &cases, |(line, start)| {
            let asked = Asked { key: &self.new_key(), limits: parsed(&[line]) };
            let ttl = asked.ttl();
            let check = step(Act::Check, "lease", &[1]);
            let first = asked.apply(&check, start)?;
            let Some(end) = later(start, ttl).filter(|_| ttl < MINUTE) else { return Ok(()) };
            let before = Time::at(end.as_micros().saturating_sub(1));
            asked.finds(&step(Act::Renew, "lease", &[]), before)?;
            let held = asked.key.peek(&asked.limits, 1, end)?;
            if before == start {
                return Ok(());
            }
            prop_assert_eq!(asked.apply(&check, end)?, first);
            prop_assert_eq!(asked.key.peek(&asked.limits, 1, end)?, held, "taken twice");
            Ok(())
        });
    }

    /// Tests that a denied attempt that counts can be neither renewed nor released, and that a retry of it is not
    /// allowed.
    pub fn a_denied_attempt_holds_nothing(&self) {
        let beside = proptest::option::of(limit_line("gcra"));
        let cases = (limit_line("concurrency"), beside, start());
        self.check_law("a denied attempt holds nothing", &cases, |(line, beside, start)| {
            let counted = format!("{line} count-denied");
            let lines: Vec<String> = [Some(counted), beside].into_iter().flatten().collect();
            let asked = Asked { key: &self.new_key(), limits: parsed(&lines) };
            let more = asked.limits.first().and_then(Limit::capacity).unwrap_or_default();
            for take in [Act::Check, Act::Reserve] {
                let attempt = step(take, "denied", &[more.saturating_add(1), 0]);
                prop_assert!(!asked.apply(&attempt, start)?.allowed);
                asked.misses(&step(Act::Renew, "denied", &[]), start)?;
                asked.misses(&step(Act::Release, "denied", &[]), start)?;
            }
            Ok(())
        });
    }
}
