//! The status of each limit of an operation.

use proptest::prelude::*;

use super::case::{TestResult, replays, twice};
use super::generate::{ALGORITHMS, Step};
use super::key::{Applied, TestKey};
use super::{Suite, expect_ok};
use crate::{Act, Decision, Limit, LimitStatus, LimitStatuses, Span, StoreError};

/// Returns the decision of a policy from the statuses of its limits, as ALGORITHMS.md defines it.
fn fold(allowed: bool, statuses: &[LimitStatus]) -> Decision {
    let never = statuses.iter().any(|status| status.retry_after.is_none());
    let waits = statuses.iter().filter_map(|status| status.retry_after);
    let positions = statuses.iter().enumerate();
    let bound = match allowed {
        // The first of several is the last in reverse.
        false => positions.rev().max_by_key(|(_, status)| {
            (status.retry_after.is_none(), status.retry_after.unwrap_or_default())
        }),
        true => positions
            .min_by_key(|(_, status)| (status.remaining.is_none(), status.remaining.unwrap_or(0))),
    };
    Decision {
        allowed,
        not_found: false,
        limit: bound.and_then(|(_, status)| status.limit),
        remaining: statuses.iter().filter_map(|status| status.remaining).min(),
        retry_after: waits.max().filter(|_| !never),
        reset_after: statuses.iter().map(|status| status.reset_after).max().unwrap_or_default(),
        bound_by: bound.map_or(0, |(position, _)| position),
        bound_remaining: bound.and_then(|(_, status)| status.remaining),
        bound_reset_after: bound.map_or(Span::ZERO, |(_, status)| status.reset_after),
        source: crate::Source::Store,
        degraded: false,
        not_remembered: false,
        would_deny: false,
    }
}

/// Returns the limits with all but one switched off. State belongs to the position, so an operation
/// on these finds the state of that one.
fn alone(limits: &[Limit], position: usize) -> Vec<Limit> {
    let unlimited: Limit = "unlimited".parse().expect("a valid line");
    let mut alone = vec![unlimited; limits.len()];
    alone[position] = limits[position].clone();
    alone
}

/// Tests that the statuses are those of an operation that was not remembered, and give its
/// decision.
fn give_the_decision(step: &Step, limits: &[Limit], applied: &Applied) -> TestResult {
    let Applied { decision, statuses } = applied;
    prop_assert_eq!(statuses.len(), limits.len(), "one status for each limit");
    let folded = Decision { not_found: decision.not_found, ..fold(decision.allowed, statuses) };
    prop_assert_eq!(&folded, decision, "folded from {:?}", statuses);
    // What was allowed has taken its cost, and may not be allowed again.
    if step.act == Act::Peek || !decision.allowed && !decision.not_found {
        let all_allow = statuses.iter().all(LimitStatus::allows);
        prop_assert_eq!(all_allow, decision.allowed, "{:?}", statuses);
    }
    Ok(())
}

impl Suite<'_> {
    /// Tests that asking for statuses changes no decision; that the decision is folded from them;
    /// and that each is what its limit alone returns, so that those that deny do not
    /// [allow](LimitStatus::allows). An operation that failed or was remembered has none.
    pub fn each_limit_has_its_status(&self) {
        self.check_all("each limit has its status", |case| {
            let (key, twin) = (self.new_key(), self.new_key());
            for (step, now, limits) in case.timed() {
                let asked = LimitStatuses::default();
                let result = key.decide(limits, step, now, Some(&asked));
                let not_asking = twin.decide(limits, step, now, None);
                let statuses = asked.to_vec();
                let decision = match (result, not_asking) {
                    (Ok(decision), Ok(not_asking)) => {
                        prop_assert_eq!(decision, not_asking, "without asking");
                        decision
                    }
                    (Err(asking), Err(not_asking)) => {
                        prop_assert!(asking.is_overdrawn(), "the store failed: {}", asking);
                        prop_assert!(not_asking.is_overdrawn(), "the store failed: {}", not_asking);
                        prop_assert_eq!(statuses, [], "of an operation that failed");
                        continue;
                    }
                    differ => {
                        return Err(TestCaseError::fail(format!("asking or not: {differ:?}")));
                    }
                };
                if statuses.is_empty() && replays(step) {
                    continue;
                }
                let applied = Applied { decision, statuses };
                give_the_decision(step, limits, &applied)?;
                for (position, status) in applied.statuses.iter().enumerate() {
                    let alone = alone(limits, position);
                    let alone = expect_ok(twin.decide(&alone, &step.as_peek(), now, None))?;
                    prop_assert_eq!(&alone.only_status(), status, "limit {}", position);
                    prop_assert_eq!(alone.allowed, status.allows(), "limit {}", position);
                }
            }
            Ok(())
        });
    }

    /// Tests that the same limit may count the same subject twice in one operation. Each position
    /// has its own state and takes its own cost, and both are allowed or denied together.
    pub fn a_limit_that_occurs_twice_has_two_states(&self) {
        for algorithm in ALGORITHMS {
            let law = format!("a limit that occurs twice has two states ({algorithm})");
            self.check_law(&law, &twice(algorithm), |case| {
                let (key, twins) = (self.new_key(), [self.new_key(), self.new_key()]);
                let mut known = Vec::new();
                for (step, now, limits) in case.timed() {
                    let peeks = both(&twins, |twin, position| {
                        twin.apply(&limits[..1], &step.only(position).as_peek(), now)
                    })?;
                    let all_fit = peeks.iter().all(Applied::allowed);
                    // If the debt would be too large for one limit, nothing has changed.
                    let Ok(applied) = key.apply(limits, step, now) else { continue };
                    // The operation was remembered, and is not applied again.
                    if applied.statuses.is_empty() && replays(step) {
                        continue;
                    }
                    prop_assert!(!step.act.can_be_denied() || applied.allowed() == all_fit);
                    // A retry with other costs may hold too little in one limit only: then one of the twins remembers it.
                    let operation = (step.act, step.id);
                    if algorithm == "concurrency" && known.contains(&operation) && replays(step) {
                        return Ok(());
                    }
                    known.push(operation);
                    // One lease was released, and with it all reservations under the id.
                    if applied.decision.not_found && step.act == Act::Release {
                        return Ok(());
                    }
                    let alone = if applied.allowed() || step.act == Act::Settle {
                        both(&twins, |twin, position| {
                            twin.apply(&limits[..1], &step.only(position), now)
                        })?
                    } else {
                        peeks
                    };
                    let alone = alone.map(|applied| applied.decision.only_status());
                    prop_assert_eq!(&applied.statuses, &alone);
                }
                Ok(())
            });
        }
    }
}

/// Applies an operation to each of two keys. The debt is not too large for one of them, since it was
/// not for both in one operation.
fn both(
    twins: &[TestKey<'_>; 2],
    apply: impl Fn(&TestKey<'_>, usize) -> Result<Applied, StoreError>,
) -> Result<[Applied; 2], TestCaseError> {
    let fail = |error: StoreError| TestCaseError::fail(format!("alone it failed: {error}"));
    let [first, second] = twins;
    Ok([apply(first, 0).map_err(fail)?, apply(second, 1).map_err(fail)?])
}
