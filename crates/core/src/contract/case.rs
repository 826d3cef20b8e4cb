//! Random cases: limits in several variants, and operations on one key under them.

use std::fmt;

use proptest::prelude::*;

use super::Suite;
use super::generate::{ALGORITHMS, Step, limit_line, start, steps_for};
use super::key::{Applied, TestKey, policy_name};
use crate::{Act, Limit, Policy, Span, Time};

pub(super) type TestResult = Result<(), TestCaseError>;

/// Limits in several variants, and the operations on one key under them.
#[derive(Clone)]
pub(super) struct Case {
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
    pub(super) fn counting_denied(self) -> Case {
        let counting = |limit: &Limit| match format!("{limit} count-denied").parse() {
            Ok(counting) => counting,
            Err(_) => limit.clone(),
        };
        let variants = self.variants.iter();
        let variants = variants.map(|limits| limits.iter().map(counting).collect()).collect();
        Case { variants, ..self }
    }

    /// Returns the case without ids, and without the operations that need one.
    pub(super) fn without_ids(self) -> Case {
        let steps = self.steps.into_iter().filter(|step| !step.act.needs_id());
        Case { steps: steps.map(|step| Step { id: None, ..step }).collect(), ..self }
    }

    /// Returns each step with its instant and its limits.
    pub(super) fn timed(&self) -> impl Iterator<Item = (&Step, Time, &[Limit])> {
        self.steps.iter().scan(self.start, |now, step| {
            *now = step.time(self.limits(step), *now);
            Some((step, *now, self.limits(step)))
        })
    }
}

pub(super) fn parsed(lines: &[String]) -> Vec<Limit> {
    lines.iter().filter_map(|line| line.parse().ok()).collect()
}

fn case_of(variants: impl Strategy<Value = Vec<Vec<String>>>) -> impl Strategy<Value = Case> {
    variants.prop_flat_map(|lines| {
        let variants: Vec<Vec<Limit>> = lines.iter().map(|lines| parsed(lines)).collect();
        let steps = steps_for(&least_capacities(&variants), variants.len());
        // All variants have the same rules.
        let policy = Policy::new(policy_name(), variants.first().cloned().unwrap_or_default());
        (start(), steps).prop_map(move |(start, mut steps)| {
            // A limiter refuses the others.
            steps.retain(|step| policy.supports(step.act));
            Case { variants: variants.clone(), start, steps }
        })
    })
}

/// Returns the least capacity at each position of the variants.
fn least_capacities(variants: &[Vec<Limit>]) -> Vec<u64> {
    let positions = variants.iter().map(Vec::len).max().unwrap_or(0);
    let at = |position: usize| variants.iter().filter_map(move |limits| limits.get(position));
    let least = |position| at(position).filter_map(Limit::capacity).min().unwrap_or(1);
    (0..positions).map(least).collect()
}

/// Generates one limit of an algorithm, in two variants.
pub(super) fn single(algorithm: &'static str) -> impl Strategy<Value = Case> {
    let variant = || limit_line(algorithm).prop_map(|line| vec![line]);
    case_of(proptest::collection::vec(variant(), 2))
}

/// Generates a policy in which one limit occurs twice, in two variants.
pub(super) fn twice(algorithm: &'static str) -> impl Strategy<Value = Case> {
    let variant = || limit_line(algorithm).prop_map(|line| vec![line.clone(), line]);
    case_of(proptest::collection::vec(variant(), 2))
}

/// Generates two or three limits of any algorithms, in one variant.
pub(super) fn several() -> impl Strategy<Value = Case> {
    let any = proptest::sample::select(&ALGORITHMS[..]).prop_flat_map(limit_line);
    case_of(proptest::collection::vec(any, 2..4).prop_map(|lines| vec![lines]))
}

/// Applies the steps, and calls `check` after each that did not fail.
pub(super) fn replay(
    key: &TestKey<'_>,
    case: &Case,
    check: impl Fn(&Step, Time, &[Limit], Applied) -> TestResult,
) -> TestResult {
    for (step, now, limits) in case.timed() {
        match key.apply(limits, step, now) {
            Ok(applied) => check(step, now, limits, applied)?,
            // The debt would be too large, so nothing has changed.
            Err(error) => prop_assert!(error.is_overdrawn(), "the store failed: {error}"),
        }
    }
    Ok(())
}

pub(super) fn later(now: Time, wait: Span) -> Option<Time> {
    Time::from_micros(now.after(wait).as_micros())
}

pub(super) fn earlier(now: Time, ticks: u64) -> Option<Time> {
    now.as_micros().checked_sub(ticks).and_then(Time::from_micros)
}

/// Returns whether the decision may be that of an earlier operation, which says nothing about the
/// current state.
pub(super) fn replays(step: &Step) -> bool {
    step.id.is_some() && step.act.is_remembered()
}

/// Returns whether the operation acts on some limits of a policy even if it is not allowed, because
/// another has nothing under its id.
pub(super) fn acts_where_found(step: &Step) -> bool {
    matches!(step.act, Act::Settle | Act::Release)
}

impl Suite<'_> {
    /// Tests a law on every algorithm alone, and on policies of several limits.
    pub(super) fn check_all(&self, law: &str, test: impl Fn(&Case) -> TestResult) {
        for algorithm in ALGORITHMS {
            self.check_law(&format!("{law} ({algorithm})"), &single(algorithm), |case| test(&case));
        }
        self.check_law(&format!("{law} (several limits)"), &several(), |case| test(&case));
    }
}
