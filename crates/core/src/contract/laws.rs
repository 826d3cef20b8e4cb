//! Laws 1 to 8, as ALGORITHMS.md numbers them.

use std::fmt;

use proptest::prelude::*;

use super::generate::{ALGORITHMS, Step, limit_line, start, steps};
use super::{Suite, TestKey, expect_decision};
use crate::{Act, Decision, Limit, MAX_COST, Span, Time};

type TestResult = Result<(), TestCaseError>;

/// Limits in several variants, and the operations on one key under them.
#[derive(Clone)]
struct Case {
    /// Each variant is a policy; all have the same rules in the same order, with other numbers.
    variants: Vec<Vec<Limit>>,
    start: Time,
    steps: Vec<Step>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (variant, limits) in self.variants.iter().enumerate() {
            let lines: Vec<String> = limits.iter().map(Limit::to_string).collect();
            writeln!(f, "\nlimits {variant}: {lines:?}")?;
        }
        write!(f, "starting at {}: {:#?}", self.start.as_micros(), self.steps)
    }
}

impl Case {
    fn limits(&self, step: &Step) -> &[Limit] {
        let variant = step.variant.checked_rem(self.variants.len()).unwrap_or(0);
        self.variants.get(variant).map_or(&[], Vec::as_slice)
    }

    /// Returns the case with `count-denied` added to the limits that accept it.
    fn counting_denied(self) -> Case {
        let counting = |limit: &Limit| match format!("{limit} count-denied").parse() {
            Ok(counting) => counting,
            Err(_) => limit.clone(),
        };
        let variants = self.variants.iter();
        let variants = variants.map(|limits| limits.iter().map(counting).collect()).collect();
        Case { variants, ..self }
    }

    /// Returns the case without ids, and without the operations that need one.
    fn without_ids(self) -> Case {
        let steps = self.steps.into_iter().filter(|step| !step.act.needs_id());
        Case { steps: steps.map(|step| Step { id: None, ..step }).collect(), ..self }
    }

    /// Returns each step with its instant and its limits.
    fn timed(&self) -> impl Iterator<Item = (&Step, Time, &[Limit])> {
        self.steps.iter().scan(self.start, |now, step| {
            *now = step.time(self.limits(step), *now);
            Some((step, *now, self.limits(step)))
        })
    }
}

fn parsed(lines: &[String]) -> Vec<Limit> {
    lines.iter().filter_map(|line| line.parse().ok()).collect()
}

fn case_of(variants: impl Strategy<Value = Vec<Vec<String>>>) -> impl Strategy<Value = Case> {
    variants.prop_flat_map(|lines| {
        let variants: Vec<Vec<Limit>> = lines.iter().map(|lines| parsed(lines)).collect();
        let capacities = variants.iter().flatten().filter_map(Limit::capacity);
        let capacity = capacities.min().unwrap_or(1);
        (start(), steps(capacity, variants.len())).prop_map(move |(start, steps)| Case {
            variants: variants.clone(),
            start,
            steps,
        })
    })
}

/// Generates one limit of an algorithm, in two variants.
fn single(algorithm: &'static str) -> impl Strategy<Value = Case> {
    let variant = || limit_line(algorithm).prop_map(|line| vec![line]);
    case_of(proptest::collection::vec(variant(), 2))
}

/// Generates two or three limits of any algorithms, in one variant.
fn several() -> impl Strategy<Value = Case> {
    let any = proptest::sample::select(&ALGORITHMS[..]).prop_flat_map(limit_line);
    case_of(proptest::collection::vec(any, 2..4).prop_map(|lines| vec![lines]))
}

/// Applies the steps, and calls `check` after each that returned a decision.
fn replay(
    key: &TestKey<'_>,
    case: &Case,
    check: impl Fn(&Step, Time, &[Limit], Decision) -> TestResult,
) -> TestResult {
    for (step, now, limits) in case.timed() {
        match key.apply(limits, step, now) {
            Ok(decision) => check(step, now, limits, decision)?,
            // The debt would be too large, so nothing has changed.
            Err(error) => prop_assert!(error.is_overdrawn(), "the store failed: {error}"),
        }
    }
    Ok(())
}

fn later(now: Time, wait: Span) -> Option<Time> {
    Time::from_micros(now.after(wait).as_micros())
}

fn earlier(now: Time, ticks: u64) -> Option<Time> {
    now.as_micros().checked_sub(ticks).and_then(Time::from_micros)
}

impl Suite<'_> {
    /// Tests a law on every algorithm alone, and on policies of several limits.
    fn check_all(&self, law: &str, test: impl Fn(&Case) -> TestResult) {
        for algorithm in ALGORITHMS {
            self.check_law(&format!("{law} ({algorithm})"), &single(algorithm), |case| test(&case));
        }
        self.check_law(&format!("{law} (several limits)"), &several(), |case| test(&case));
    }

    /// Tests law 1: without the denied operations, every other decision is the same.
    pub fn law_1_deny_is_free(&self) {
        self.check_all("law 1: deny is free", |case| self.twin_without_denials(case));
    }

    fn twin_without_denials(&self, case: &Case) -> TestResult {
        let (key, twin) = (self.new_key(), self.new_key());
        replay(&key, case, |step, now, limits, decision| {
            if step.act == Act::Peek || !decision.allowed {
                prop_assert_eq!(key.peek(limits, 1, now)?, twin.peek(limits, 1, now)?);
            } else {
                prop_assert_eq!(expect_decision(twin.apply(limits, step, now))?, decision);
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
                replay(&key, &case, |step, now, limits, decision| {
                    let attempt = !decision.allowed && step.act != Act::Peek;
                    let charge = Step { act: Act::Charge, ..step.clone() };
                    let decided = expect_decision(twin.apply(
                        limits,
                        if attempt { &charge } else { step },
                        now,
                    ))?;
                    prop_assert_eq!(Decision { allowed: decision.allowed, ..decided }, decision);
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

    /// Tests law 2: if one limit denies, nothing is taken from another. The first limit of the
    /// policy has its own state, so it can be peeked alone.
    pub fn law_2_all_or_nothing(&self) {
        self.check_law("law 2: all or nothing", &several(), |case| {
            let key = self.new_key();
            for (step, now, limits) in case.timed() {
                let Some((first, _)) = limits.split_first_chunk::<1>() else { return Ok(()) };
                let before = key.peek(first, 1, now)?;
                let denied = key.apply(limits, step, now).is_ok_and(|decision| !decision.allowed);
                if denied {
                    prop_assert_eq!(key.peek(first, 1, now)?, before, "taken although denied");
                }
            }
            Ok(())
        });
    }

    /// Tests law 3: a check of `remaining` is allowed, one of `remaining + 1` is denied.
    pub fn law_3_remaining_is_exact(&self) {
        self.check_all("law 3: remaining is exact", |case| {
            let key = self.new_key();
            replay(&key, case, |step, now, limits, decision| {
                let (false, Some(remaining)) = (replays(step), decision.remaining) else {
                    return Ok(());
                };
                let in_debt = !key.peek(limits, 0, now)?.allowed;
                if in_debt {
                    prop_assert_eq!(remaining, 0);
                } else {
                    prop_assert!(key.peek(limits, remaining, now)?.allowed);
                }
                if remaining < MAX_COST {
                    prop_assert!(!key.peek(limits, remaining.saturating_add(1), now)?.allowed);
                }
                Ok(())
            })
        });
    }

    /// Tests law 4: a check after `retry_after` is allowed, one tick earlier it is denied.
    pub fn law_4_retry_after_is_enough_and_no_more(&self) {
        self.check_all("law 4: retry_after is enough, and no more", |case| {
            let key = self.new_key();
            replay(&key, case, |step, now, limits, decision| {
                if replays(step) {
                    return Ok(());
                }
                let allowed = |at: Option<Time>| -> Result<Option<bool>, TestCaseError> {
                    at.map(|at| Ok(key.peek(limits, step.cost, at)?.allowed)).transpose()
                };
                match decision.retry_after {
                    None => {
                        let clear = allowed(later(now, decision.reset_after))?;
                        prop_assert_ne!(clear, Some(true), "never, but allowed after its reset");
                    }
                    Some(wait) => {
                        let then = later(now, wait);
                        prop_assert_ne!(allowed(then)?, Some(false), "not enough: {:?}", wait);
                        if wait > Span::ZERO {
                            let before = then.and_then(|then| earlier(then, 1));
                            prop_assert_ne!(allowed(before)?, Some(true), "too much: {:?}", wait);
                        }
                    }
                }
                Ok(())
            })
        });
    }

    /// Tests law 5: from its reset the key is indistinguishable from one never seen; a tick before,
    /// its `reset_after` is one tick.
    pub fn law_5_reset_after_means_forgotten(&self) {
        self.check_all("law 5: reset_after means forgotten", |case| {
            let key = self.new_key();
            replay(&key, case, |step, now, limits, decision| {
                let Some(reset) = later(now, decision.reset_after).filter(|_| !replays(step))
                else {
                    return Ok(());
                };
                let fresh = self.new_key();
                let capacity = limits.iter().filter_map(Limit::capacity).min().unwrap_or(0);
                for cost in [0, 1, capacity, capacity.saturating_add(1).min(MAX_COST)] {
                    let (old, new) =
                        (key.peek(limits, cost, reset)?, fresh.peek(limits, cost, reset)?);
                    prop_assert_eq!(old, new, "at its reset, cost {}", cost);
                }
                if decision.reset_after > Span::ZERO
                    && let Some(before) = earlier(reset, 1)
                {
                    let left = key.peek(limits, 1, before)?.reset_after;
                    prop_assert_eq!(left, Span::from_micros(1), "a tick before its reset");
                }
                Ok(())
            })
        });
    }

    /// Tests law 6: a peek at an earlier instant shows no more room, and changes nothing.
    pub fn law_6_time_never_gives_back(&self) {
        self.check_all("law 6: time never gives back what it took", |case| {
            let key = self.new_key();
            replay(&key, case, |step, now, limits, _| {
                let before = key.peek(limits, step.cost, now)?;
                for ticks in [1, 1_000, before.reset_after.as_micros(), now.as_micros() / 2] {
                    let Some(past) = earlier(now, ticks) else { continue };
                    let seen = key.peek(limits, step.cost, past)?;
                    prop_assert!(
                        seen.remaining <= before.remaining,
                        "{:?} then {:?}",
                        seen,
                        before
                    );
                }
                prop_assert_eq!(key.peek(limits, step.cost, now)?, before);
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
                    let room = key.peek(&limits, 1, now)?.remaining.unwrap_or(0);
                    prop_assert!(
                        expect_decision(key.apply(&limits, &Step::new(Act::Check, room), now))?
                            .allowed
                    );
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

    /// Tests law 8: after any pause there is never more than the capacity, and after the reset all
    /// of it.
    pub fn law_8_idle_earns_no_more_than_full(&self) {
        self.check_all("law 8: idle earns no more than full", |case| {
            let key = self.new_key();
            replay(&key, case, |step, now, limits, decision| {
                let capacity = limits.iter().filter_map(Limit::capacity).min();
                prop_assert!(replays(step) || decision.remaining <= capacity);
                let reset = key.peek(limits, 1, now)?.reset_after;
                for pause in [reset, Span::from_micros(reset.as_micros().saturating_mul(3))] {
                    let Some(then) = later(now, pause) else { continue };
                    prop_assert_eq!(key.peek(limits, 1, then)?.remaining, capacity);
                }
                Ok(())
            })
        });
    }
}

/// Returns whether the decision may be that of an earlier operation, which says nothing about the
/// current state.
fn replays(step: &Step) -> bool {
    step.id.is_some() && step.act.is_remembered()
}
