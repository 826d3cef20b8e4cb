//! Laws 1 to 8, as ALGORITHMS.md numbers them.

use proptest::prelude::*;

use super::case::{
    Case, TestResult, acts_where_found, earlier, later, replay, replays, several, single,
};
use super::generate::{ALGORITHMS, Step, start};
use super::key::{Applied, TestKey};
use super::{Suite, expect_ok};
use crate::{Act, Decision, Limit, LimitStatus, MAX_COST, Span, Time};

impl Suite<'_> {
    /// Tests law 1: without the denied operations, every other decision is the same.
    pub fn law_1_deny_is_free(&self) {
        self.check_all("law 1: deny is free", |case| self.twin_without_denials(case));
    }

    fn twin_without_denials(&self, case: &Case) -> TestResult {
        let (key, twin) = (self.new_key(), self.new_key());
        replay(&key, case, |step, now, limits, applied| {
            let acts = applied.allowed() || limits.len() > 1 && acts_where_found(step);
            if step.act == Act::Peek || !acts {
                prop_assert_eq!(key.peek(limits, 1, now)?, twin.peek(limits, 1, now)?);
            } else {
                prop_assert_eq!(expect_ok(twin.apply(limits, step, now))?, applied);
            }
            Ok(())
        })
    }

    /// Tests the opposite of law 1: under `count-denied` a denied check counts like a charge.
    pub fn law_1_count_denied_counts_every_attempt(&self) {
        for algorithm in ALGORITHMS.into_iter().filter(|name| *name != "sliding-log") {
            let cases = single(algorithm).prop_map(|case| case.without_ids().counting_denied());
            self.check_law(&format!("law 1: count-denied ({algorithm})"), &cases, |case| {
                let (key, twin) = (self.new_key(), self.new_key());
                replay(&key, &case, |step, now, limits, Applied { decision, .. }| {
                    // Counters with many slots do not accept it.
                    let counts = limits.iter().all(Limit::counts_denied);
                    let attempt = counts && !decision.allowed && step.act != Act::Peek;
                    let charge = Step { act: Act::Charge, ..step.clone() };
                    let counted = if attempt { &charge } else { step };
                    let counted = expect_ok(twin.apply(limits, counted, now))?.decision;
                    prop_assert_eq!(Decision { allowed: decision.allowed, ..counted }, decision);
                    Ok(())
                })
            });
        }
    }

    /// Tests that a limit with `count-denied` counts what another limit of the policy denied.
    pub fn law_1_count_denied_counts_what_others_denied(&self) {
        let cases = several().prop_map(|case| case.without_ids().counting_denied());
        self.check_law("law 1: count-denied (several limits)", &cases, |case| {
            let (key, twin) = (self.new_key(), self.new_key());
            for (step, now, limits) in case.timed().filter(|(step, ..)| step.act == Act::Check) {
                let first = limits.split_first_chunk::<1>().map(|(first, _)| first);
                let Some(first) = first.filter(|[first]| first.counts_denied()) else {
                    return Ok(());
                };
                let charge = Step { act: Act::Charge, ..step.clone() };
                // If the debt would be too large for one of them, there is nothing to compare.
                if key.apply(limits, step, now).is_err() || twin.apply(first, &charge, now).is_err()
                {
                    return Ok(());
                }
                prop_assert_eq!(key.peek(first, 1, now)?, twin.peek(first, 1, now)?);
            }
            Ok(())
        });
    }

    /// Tests law 2: if one limit denies, nothing is taken from any. The first limit of the policy
    /// has its own state, so it can be peeked alone.
    pub fn law_2_all_or_nothing(&self) {
        self.check_law("law 2: all or nothing", &several(), |case| {
            let key = self.new_key();
            for (step, now, limits) in case.timed() {
                let Some((first, _)) = limits.split_first_chunk::<1>() else { return Ok(()) };
                let peek =
                    || key.peek(limits, 1, now).and_then(|all| Ok((all, key.peek(first, 1, now)?)));
                let before = peek()?;
                let denied = key.apply(limits, step, now).is_ok_and(|applied| !applied.allowed());
                if denied && !acts_where_found(step) {
                    prop_assert_eq!(peek()?, before, "taken although denied");
                }
            }
            Ok(())
        });
    }

    /// Tests law 3: a check of `remaining` is allowed, one of `remaining + 1` is denied; by the
    /// policy, and by each limit if each takes what remains of it.
    pub fn law_3_remaining_is_exact(&self) {
        self.check_all("law 3: remaining is exact", |case| {
            let key = self.new_key();
            replay(&key, case, |step, now, limits, applied| {
                if replays(step) {
                    return Ok(());
                }
                let Some(remaining) = applied.decision.remaining else { return Ok(()) };
                let nothing = key.peek(limits, 0, now)?;
                if nothing.allowed() {
                    prop_assert!(key.peek(limits, remaining, now)?.allowed());
                } else {
                    prop_assert_eq!(remaining, 0, "in debt");
                }
                if remaining < MAX_COST {
                    prop_assert!(!key.peek(limits, remaining.saturating_add(1), now)?.allowed());
                }
                if limits.len() > 1 {
                    each_remaining_is_exact(&key, limits, now, &applied, &nothing)?;
                }
                Ok(())
            })
        });
    }

    /// Tests law 4: a check of the same costs is allowed after `retry_after`, one tick earlier it
    /// is denied; by the policy, and by each limit after its own wait.
    pub fn law_4_retry_after_is_enough_and_no_more(&self) {
        self.check_all("law 4: retry_after is enough, and no more", |case| {
            let key = self.new_key();
            replay(&key, case, |step, now, limits, Applied { decision, statuses }| {
                if replays(step) {
                    return Ok(());
                }
                let peek = |at| expect_ok(key.apply(limits, &step.as_peek(), at));
                wait_is_exact(now, decision.retry_after, decision.reset_after, |at| {
                    Ok(peek(at)?.allowed())
                })?;
                for (position, status) in several_of(&statuses) {
                    wait_is_exact(now, status.retry_after, status.reset_after, |at| {
                        Ok(peek(at)?.statuses[position].allows())
                    })?;
                }
                Ok(())
            })
        });
    }

    /// Tests law 5: from its reset the key is indistinguishable from one never seen; a tick before,
    /// its `reset_after` is one tick. The same holds for each limit.
    pub fn law_5_reset_after_means_forgotten(&self) {
        self.check_all("law 5: reset_after means forgotten", |case| {
            let key = self.new_key();
            replay(&key, case, |step, now, limits, Applied { decision, statuses }| {
                if replays(step) {
                    return Ok(());
                }
                let (fresh, capacity) = (self.new_key(), least_capacity(limits).unwrap_or(0));
                for cost in [1, capacity, capacity.saturating_add(1).min(MAX_COST)] {
                    let Some(reset) = later(now, decision.reset_after) else { break };
                    let (old, new) =
                        (key.peek(limits, cost, reset)?, fresh.peek(limits, cost, reset)?);
                    prop_assert_eq!(old, new, "at its reset, cost {}", cost);
                }
                one_tick_before_reset(now, decision.reset_after, |at| {
                    Ok(key.peek(limits, 1, at)?.decision.reset_after)
                })?;
                for (position, status) in several_of(&statuses) {
                    let status_of = |key: &TestKey<'_>, at| -> Result<_, TestCaseError> {
                        Ok(key.peek(limits, 1, at)?.statuses[position])
                    };
                    if let Some(reset) = later(now, status.reset_after) {
                        prop_assert_eq!(status_of(&key, reset)?, status_of(&fresh, reset)?);
                    }
                    one_tick_before_reset(now, status.reset_after, |at| {
                        Ok(status_of(&key, at)?.reset_after)
                    })?;
                }
                Ok(())
            })
        });
    }

    /// Tests law 6: a peek at an earlier instant shows no more room in any limit, and changes
    /// nothing.
    pub fn law_6_time_never_gives_back(&self) {
        self.check_all("law 6: time never gives back what it took", |case| {
            let key = self.new_key();
            replay(&key, case, |step, now, limits, _| {
                let peek = |at| expect_ok(key.apply(limits, &step.as_peek(), at));
                let before = peek(now)?;
                let reset = before.decision.reset_after.as_micros();
                for ticks in [1, 1_000, reset, now.as_micros() / 2] {
                    let Some(past) = earlier(now, ticks) else { continue };
                    let seen = peek(past)?;
                    let mut pairs = seen.statuses.iter().zip(&before.statuses);
                    let no_more = pairs.all(|(seen, before)| seen.remaining <= before.remaining);
                    prop_assert!(no_more, "{:?} then {:?}", seen, before);
                }
                prop_assert_eq!(peek(now)?, before);
                Ok(())
            })
        });
    }

    /// Tests law 7: a client that sends all the time is admitted `burst + floor(rate * elapsed)`
    /// times, give or take one, after an hour as after a second.
    pub fn law_7_no_drift(&self) {
        let rates = prop_oneof![
            Just((1_u64, "week", 604_800_000_000_u64)),
            Just((7, "day", 86_400_000_000)),
            (1_u64..10_000_000).prop_map(|n| (n, "s", 1_000_000)),
            (1_u64..100_000).prop_map(|n| (n, "min", 60_000_000)),
            Just((10_000_000, "s", 1_000_000)),
        ];
        let name = proptest::sample::select(&["gcra", "token-bucket"][..]);
        let gaps = proptest::collection::vec(1_u64..20_000_000, 1..200);
        let cases = (name, rates, 1_u64..1000, start(), gaps);
        self.check_law(
            "law 7: no drift",
            &cases,
            |(name, (n, unit, period), burst, start, gaps)| {
                // The burst is so large that the bucket is never full between two checks.
                let burst = burst.saturating_add(n.saturating_mul(20_000_000).div_ceil(period));
                let line = format!("{name} {n}/{unit} burst {burst}");
                let limits =
                    [line.parse::<Limit>().map_err(|e| TestCaseError::fail(e.to_string()))?];
                let key = self.new_key();
                let (mut admitted, mut now) = (0_u64, start);
                for gap in std::iter::once(0).chain(gaps) {
                    // No operation can be after Time::MAX.
                    let Some(next) = later(now, Span::from_micros(gap)) else { break };
                    now = next;
                    let room = key.peek(&limits, 1, now)?.decision.remaining.unwrap_or(0);
                    let check = Step::new(Act::Check, room);
                    prop_assert!(expect_ok(key.apply(&limits, &check, now))?.allowed());
                    admitted = admitted.saturating_add(room);
                    let elapsed = u128::from(now.since(start).as_micros());
                    let flowed = elapsed.saturating_mul(n.into()).checked_div(period.into());
                    let expected = flowed.unwrap_or(0).saturating_add(burst.into());
                    prop_assert!(
                        expected.abs_diff(admitted.into()) <= 1,
                        "{} {}",
                        expected,
                        admitted
                    );
                }
                Ok(())
            },
        );
    }

    /// Tests law 8: after any pause there is never more than the capacity of each limit, and after
    /// the reset all of it.
    pub fn law_8_idle_earns_no_more_than_full(&self) {
        self.check_all("law 8: idle earns no more than full", |case| {
            let key = self.new_key();
            replay(&key, case, |_, now, limits, _| {
                let peeked = key.peek(limits, 1, now)?;
                for (status, limit) in peeked.statuses.iter().zip(limits) {
                    prop_assert!(status.remaining <= limit.capacity(), "{:?}", status);
                }
                let reset = peeked.decision.reset_after;
                for pause in [reset, Span::from_micros(reset.as_micros().saturating_mul(3))] {
                    let Some(then) = later(now, pause) else { continue };
                    for (status, limit) in key.peek(limits, 1, then)?.statuses.iter().zip(limits) {
                        prop_assert_eq!(status.remaining, limit.capacity());
                    }
                }
                Ok(())
            })
        });
    }
}

fn least_capacity(limits: &[Limit]) -> Option<u64> {
    limits.iter().filter_map(Limit::capacity).min()
}

/// Returns the statuses with their positions, unless there is only one: its numbers are those of
/// the decision.
fn several_of(statuses: &[LimitStatus]) -> impl Iterator<Item = (usize, &LimitStatus)> {
    statuses.iter().enumerate().filter(|_| statuses.len() > 1)
}

/// Tests that all limits together allow what remains of each, and that none allows one more.
/// `nothing` is a peek of cost 0, which a limit in debt denies.
fn each_remaining_is_exact(
    key: &TestKey<'_>,
    limits: &[Limit],
    now: Time,
    applied: &Applied,
    nothing: &Applied,
) -> TestResult {
    let remaining = applied.statuses.iter().map(|status| status.remaining.unwrap_or(1));
    let peek = |more: u64| {
        let costs = remaining.clone().map(|left| left.saturating_add(more).min(MAX_COST));
        let peek = Step { costs: costs.collect(), ..Step::new(Act::Peek, 0) };
        expect_ok(key.apply(limits, &peek, now))
    };
    let (all_of_it, one_more) = (peek(0)?, peek(1)?);
    prop_assert_eq!(all_of_it.allowed(), nothing.allowed());
    for (position, left) in remaining.clone().enumerate() {
        let allows = |applied: &Applied| applied.statuses[position].allows();
        prop_assert_eq!(allows(&all_of_it), allows(nothing), "limit {}", position);
        prop_assert!(allows(nothing) || left == 0, "limit {} is in debt", position);
        prop_assert!(!allows(&one_more) || left >= MAX_COST, "limit {}", position);
    }
    let least = applied.statuses.iter().filter_map(|status| status.remaining).min();
    prop_assert_eq!(applied.decision.remaining, least);
    Ok(())
}

/// Tests that a peek is allowed after the wait and not a tick earlier; or never, not even after the
/// reset.
fn wait_is_exact(
    now: Time,
    wait: Option<Span>,
    reset: Span,
    is_allowed: impl Fn(Time) -> Result<bool, TestCaseError>,
) -> TestResult {
    let allowed = |at: Option<Time>| at.map(&is_allowed).transpose();
    let Some(wait) = wait else {
        let clear = allowed(later(now, reset))?;
        prop_assert_ne!(clear, Some(true), "never, but allowed after its reset");
        return Ok(());
    };
    let then = later(now, wait);
    prop_assert_ne!(allowed(then)?, Some(false), "not enough: {:?}", wait);
    if wait > Span::ZERO {
        let before = then.and_then(|then| earlier(then, 1));
        prop_assert_ne!(allowed(before)?, Some(true), "too much: {:?}", wait);
    }
    Ok(())
}

/// Tests that a tick before the reset, `reset_after` is one tick.
fn one_tick_before_reset(
    now: Time,
    reset: Span,
    reset_after: impl Fn(Time) -> Result<Span, TestCaseError>,
) -> TestResult {
    if reset > Span::ZERO
        && let Some(before) = later(now, reset).and_then(|reset| earlier(reset, 1))
    {
        let left = reset_after(before)?;
        prop_assert_eq!(left, Span::from_micros(1), "a tick before its reset");
    }
    Ok(())
}
