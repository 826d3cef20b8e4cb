//! Settle, release and renew: they act on what an earlier operation left, and say if there is nothing.

use proptest::prelude::*;

use super::case::{TestResult, later, parsed};
use super::generate::{ALGORITHMS, Step, limit_line, start};
use super::{Suite, TestKey, expect_ok};
use crate::{Act, Decision, Limit, Span, Time};

/// How long a settlement is remembered under its id.
const MINUTE: Span = Span::from_micros(60_000_000);

const FOLLOW_UPS: [Act; 3] = [Act::Settle, Act::Release, Act::Renew];

pub(super) fn step(act: Act, id: &'static str, costs: &[u64]) -> Step {
    Step { id: Some(id), costs: costs.to_vec(), ..Step::new(act, 1) }
}

/// Generates an operation, one or two limits, the last of which gives leases, and the start.
fn beside_a_lease() -> impl Strategy<Value = (Act, Vec<String>, Time)> {
    let any = proptest::sample::select(&ALGORITHMS[..]).prop_flat_map(limit_line);
    let before = proptest::option::of(any);
    let lines = (before, limit_line("concurrency"));
    let lines = lines.prop_map(|(before, last)| before.into_iter().chain([last]).collect());
    (proptest::sample::select(&FOLLOW_UPS[..]), lines, start())
}

/// One key and its limits, for short tests.
pub(super) struct Asked<'k, 's> {
    pub(super) key: &'k TestKey<'s>,
    pub(super) limits: Vec<Limit>,
}

impl Asked<'_, '_> {
    pub(super) fn apply(&self, step: &Step, at: Time) -> Result<Decision, TestCaseError> {
        Ok(expect_ok(self.key.apply(&self.limits, step, at))?.decision)
    }

    /// Expects that the operation finds what it acts on.
    pub(super) fn finds(&self, step: &Step, at: Time) -> TestResult {
        let decision = self.apply(step, at)?;
        prop_assert!(decision.allowed, "{:?} at {:?} found nothing: {:?}", step, at, decision);
        prop_assert!(!decision.not_found, "{:?}", decision);
        Ok(())
    }

    /// Expects that the operation finds nothing, and changes nothing.
    pub(super) fn misses(&self, step: &Step, at: Time) -> TestResult {
        let before = self.key.peek(&self.limits, 1, at)?;
        let decision = self.apply(step, at)?;
        prop_assert!(!decision.allowed, "{:?} at {:?} found something: {:?}", step, at, decision);
        prop_assert!(decision.not_found, "{:?}", decision);
        prop_assert_eq!(self.key.peek(&self.limits, 1, at)?, before, "it changed something");
        Ok(())
    }
}

impl Suite<'_> {
    /// Tests that an operation under an id that nothing was left under changes nothing, also nothing of
    /// what was left under another.
    pub fn what_finds_nothing_changes_nothing(&self) {
        let law = "what finds nothing changes nothing";
        self.check_law(law, &beside_a_lease(), |(act, lines, start)| {
            let asked = Asked { key: &self.new_key(), limits: parsed(&lines) };
            asked.misses(&step(act, "never", &[]), start)?;
            if !asked.apply(&step(Act::Reserve, "known", &[]), start)?.allowed {
                return Ok(());
            }
            asked.misses(&step(act, "never", &[]), start)?;
            asked.finds(&step(act, "known", &[]), start)
        });
    }

    /// Tests that a lease can be renewed and released until it ends, that a renewal lengthens it, and that
    /// after its end, or its release, neither finds it.
    pub fn a_lease_is_held_until_it_ends(&self) {
        let cases = (limit_line("concurrency"), start(), 0_u64..1000);
        self.check_law("a lease is held until it ends", &cases, |(line, start, permille)| {
            let asked = Asked { key: &self.new_key(), limits: parsed(&[line]) };
            let ttl = asked.limits.first().and_then(Limit::full_reset_after).unwrap_or_default();
            let part = Span::from_micros(ttl.as_micros().saturating_mul(permille) / 1000);
            let [check, release, renew] =
                [Act::Check, Act::Release, Act::Renew].map(|act| step(act, "lease", &[]));
            let renewed = start.after(part);
            let Some(ends) = later(renewed, ttl) else { return Ok(()) };
            let last = Time::at(ends.as_micros().saturating_sub(1));

            asked.finds(&check, start)?;
            asked.finds(&renew, renewed)?;
            // Held, but not lengthened: the clock stepped back.
            asked.finds(&renew, start)?;
            asked.finds(&release, last)?;
            asked.misses(&release, last)?;
            asked.misses(&renew, last)?;

            asked.finds(&check, start)?;
            asked.finds(&renew, renewed)?;
            asked.misses(&renew, ends)?;
            asked.misses(&release, ends)
        });
    }

    /// Tests that the newest lease, which a refund ends first, is the one that would end last, renewed or not.
    pub fn a_refund_ends_the_lease_that_would_end_last(&self) {
        let law = "a refund ends the lease that would end last";
        self.check_law(law, &(limit_line("concurrency"), start()), |(line, start)| {
            let asked = Asked { key: &self.new_key(), limits: parsed(&[line]) };
            let [first, second, third] =
                [0, 1, 2].map(|micros| start.after(Span::from_micros(micros)));
            let is_held = |limit: &Limit| limit.full_reset_after() > Some(third.since(first));
            if !asked.limits.iter().all(is_held) {
                return Ok(());
            }
            asked.finds(&step(Act::Charge, "renewed", &[1]), first)?;
            asked.finds(&step(Act::Charge, "other", &[1]), second)?;
            asked.finds(&step(Act::Renew, "renewed", &[]), third)?;
            asked.finds(&step(Act::Refund, "refund", &[1]), third)?;
            asked.misses(&step(Act::Release, "renewed", &[]), third)?;
            asked.finds(&step(Act::Release, "other", &[]), third)
        });
    }

    /// Tests that a lease of several limits is renewed only if all of them still hold it, and released
    /// wherever it is held.
    pub fn a_lease_is_renewed_in_all_limits_or_in_none(&self) {
        let line = || limit_line("concurrency");
        let cases = (line(), line(), start(), proptest::bool::ANY);
        let law = "a lease is renewed in all limits or in none";
        self.check_law(law, &cases, |(first, second, start, first_ends)| {
            let asked = Asked { key: &self.new_key(), limits: parsed(&[first, second]) };
            let refunded: [u64; 2] = if first_ends { [1, 0] } else { [0, 1] };
            asked.finds(&step(Act::Check, "lease", &[1, 1]), start)?;
            asked.finds(&step(Act::Renew, "lease", &[]), start)?;
            asked.finds(&step(Act::Refund, "ends one", &refunded), start)?;

            // At an instant when a renewal would lengthen it.
            let at = start.after(Span::from_micros(1));
            let is_held = |limit: &Limit| limit.full_reset_after() > Some(at.since(start));
            if !asked.limits.iter().all(is_held) {
                return Ok(());
            }
            asked.misses(&step(Act::Renew, "lease", &[]), at)?;

            let released = asked.apply(&step(Act::Release, "lease", &[]), at)?;
            prop_assert!(released.not_found, "one of two was released: {:?}", released);
            let free = asked.limits.iter().filter_map(Limit::capacity).min();
            prop_assert_eq!(released.remaining, free, "released wherever it is held");
            Ok(())
        });
    }

    /// Tests that a settlement is remembered for a minute, also if it changes nothing, and finds nothing
    /// afterwards; and that only its first actual cost counts.
    pub fn a_reservation_is_settled_once(&self) {
        for algorithm in ALGORITHMS {
            let cases = (limit_line(algorithm), start());
            let law = format!("a reservation is settled once ({algorithm})");
            self.check_law(&law, &cases, |(line, start)| {
                let asked = Asked { key: &self.new_key(), limits: parsed(&[line]) };
                let [reserve, settle] =
                    [Act::Reserve, Act::Settle].map(|act| step(act, "id", &[1]));
                if !asked.apply(&reserve, start)?.allowed {
                    return Ok(());
                }
                let first = asked.apply(&settle, start)?;
                prop_assert!(first.allowed && !first.not_found, "{:?}", first);
                let left = asked.key.peek(&asked.limits, 1, start)?;
                let other = step(Act::Settle, "id", &[0]);
                prop_assert_eq!(asked.apply(&other, start)?, first, "remembered");
                prop_assert_eq!(asked.key.peek(&asked.limits, 1, start)?, left, "settled twice");
                match later(start, MINUTE) {
                    Some(forgotten) => asked.misses(&settle, forgotten),
                    None => Ok(()),
                }
            });
        }
    }
}
