//! One policy on a plain store, and the headers of its decisions.

#![allow(dead_code, reason = "each test uses a part of it")]

use tollgate_core::{Act, Decision, Name, PlainStore, Policy, Request, Time};
use tollgate_http::{Dialect, RateLimitHeaders};

pub(crate) const KEY: &[u8] = b"203.0.113.9";

pub(crate) struct Scene {
    store: PlainStore,
    pub(crate) policy: Policy,
    pub(crate) now: Time,
}

impl Scene {
    pub(crate) fn new(lines: &[impl AsRef<str>], now: Time) -> Scene {
        let policy = Policy::parse(Name::new("login").unwrap(), lines).unwrap();
        Scene { store: PlainStore::default(), policy, now }
    }

    /// Applies an operation; `None` if the policy cannot have it or the store returns an error.
    pub(crate) fn apply(
        &self,
        act: Act,
        cost: u64,
        id: Option<&str>,
        at: Time,
    ) -> Option<Decision> {
        let request = Request::of(KEY).cost(cost);
        let request = id.into_iter().fold(request, Request::id);
        request.with_op(&self.policy, act, |op| self.store.apply_one(op, at)).ok()?.ok()
    }

    pub(crate) fn headers<'a>(&'a self, decision: &'a Decision) -> RateLimitHeaders<'a> {
        RateLimitHeaders::new(&self.policy, decision, self.now)
    }
}

/// Returns the fields as names and values.
pub(crate) fn fields(
    headers: &RateLimitHeaders<'_>,
    dialect: Dialect,
) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    headers.fields(dialect, |name, value| fields.push((name, value.to_owned())));
    fields
}

/// Half past a second, on 2023-11-14, so that rounding shows.
const NOW: u64 = 1_700_000_000_500_000;

pub(crate) fn scene(lines: &[&str]) -> Scene {
    Scene::new(lines, Time::from_micros(NOW).unwrap())
}

/// Makes several checks at the same instant and returns the last decision.
pub(crate) fn checks(scene: &Scene, costs: &[u64]) -> Decision {
    let decisions =
        costs.iter().map(|cost| scene.apply(Act::Check, *cost, None, scene.now).unwrap());
    decisions.last().unwrap()
}

pub(crate) fn lines(headers: &RateLimitHeaders<'_>, dialect: Dialect) -> Vec<String> {
    fields(headers, dialect).iter().map(|(name, value)| format!("{name}: {value}")).collect()
}

/// Asserts the header lines after checks of these costs.
pub(crate) fn assert_headers(limits: &[&str], costs: &[u64], expected: &[(Dialect, &[&str])]) {
    let scene = scene(limits);
    let decision = checks(&scene, costs);
    for (dialect, lines_expected) in expected {
        assert_eq!(
            lines(&scene.headers(&decision), *dialect),
            *lines_expected,
            "{limits:?} in {dialect}"
        );
    }
}
