//! A decision as seen by the client, independent of the dialect.

use std::borrow::Cow;

use tollgate_core::remote::{LimitParams as _, RuleParams};
use tollgate_core::{Decision, Key, Limit, Policy, Span, Time};

use crate::limit_name::LimitName;

/// The rate limit headers of one decision.
///
/// ```
/// use tollgate_core::{Act, Name, PlainStore, Policy, Request, Time};
/// use tollgate_http::{Dialect, RateLimitHeaders};
///
/// let policy = Policy::parse(Name::new("api")?, ["gcra 1/s burst 2", "fixed-window 1000/h"])?;
/// let (store, request) = (PlainStore::default(), Request::of("203.0.113.9").cost(2));
/// let check = || request.with_op(&policy, Act::Check, |op| store.apply_one(op, Time::EPOCH));
/// assert!(check()??.allowed);
///
/// let denied = check()??;
/// let headers = RateLimitHeaders::new(&policy, &denied, Time::EPOCH);
/// let mut head = Vec::new();
/// headers.fields(Dialect::Ietf, |name, value| head.push(format!("{name}: {value}")));
/// assert_eq!(head, [
///     r#"ratelimit: "api-1";r=0;t=2"#,
///     r#"ratelimit-policy: "api-1";q=1;w=1;tollgate-burst=2, "api-2";q=1000;w=3600"#,
///     "retry-after: 2",
/// ]);
/// assert_eq!(headers.limit_name().unwrap(), "api-1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The policy must be the one that made the decision. If it has no limit at the position that the
/// decision refers to, fields are missing.
#[derive(Debug, Clone, Copy)]
pub struct RateLimitHeaders<'a> {
    policy: &'a Policy,
    decision: &'a Decision,
    now: Time,
    key: Option<Key<'a>>,
}

impl<'a> RateLimitHeaders<'a> {
    /// Creates the headers of a decision of `policy` at `now`.
    #[must_use]
    pub fn new(policy: &'a Policy, decision: &'a Decision, now: Time) -> RateLimitHeaders<'a> {
        RateLimitHeaders { policy, decision, now, key: None }
    }

    /// Sets the key that was checked. Only [`Dialect::Draft8`](crate::Dialect::Draft8) uses it: the partition `pk` of all
    /// limits is a part of its hash.
    ///
    /// The dialect requires an unkeyed hash, so a client that guesses a key can verify the guess by
    /// `pk`. Set the key only if clients that see the response may know it.
    #[must_use]
    pub fn key(self, key: Key<'a>) -> RateLimitHeaders<'a> {
        RateLimitHeaders { key: Some(key), ..self }
    }

    /// Returns the name of the binding limit: the name of the policy, followed by the limit's
    /// position counted from 1 if there are several (`login-2`). A
    /// [problem](crate::Problem::quota_exceeded) names it as violated. Returns `None` if the policy
    /// has no such limit.
    #[must_use]
    pub fn limit_name(&self) -> Option<Cow<'a, str>> {
        self.policy.limits().get(self.decision.bound_by)?;
        let name = self.name_of(self.decision.bound_by);
        if name.position.is_none() {
            return Some(Cow::Borrowed(name.policy));
        }
        let mut text = String::new();
        name.push_to(&mut text);
        Some(Cow::Owned(text))
    }

    pub(crate) fn policy_name(&self) -> &'a str {
        self.policy.name().as_str()
    }

    pub(crate) fn partition(&self) -> Option<Key<'a>> {
        self.key
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Returns whether the client can be told to wait: not if there was nothing to act on.
    pub(crate) fn is_denied(&self) -> bool {
        !self.decision.allowed && !self.decision.not_found
    }

    /// Returns every limit of the policy with its name.
    pub(crate) fn limits(&self) -> impl Iterator<Item = (LimitName<'a>, &'a Limit)> {
        let limits = self.policy.limits().iter().enumerate();
        limits.map(|(index, limit)| (self.name_of(index), limit))
    }

    fn name_of(&self, index: usize) -> LimitName<'a> {
        let has_several = self.policy.limits().len() > 1;
        let position = u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1);
        LimitName { policy: self.policy_name(), position: has_several.then_some(position) }
    }

    /// Returns what remains of the whole policy, so that a client that sees only this does not ask for more. Where
    /// limits count in different units, the least of them says nothing: then what remains of the binding limit.
    fn remaining(&self) -> Option<u64> {
        let has_units = self.policy.limits().iter().any(|limit| limit.unit().is_some());
        if has_units { self.decision.bound_remaining } else { self.decision.remaining }
    }

    /// Returns the numbers of the binding limit; `None` if the policy is unlimited.
    pub(crate) fn binding(&self) -> Option<BindingLimit<'a>> {
        let index = self.decision.bound_by;
        let binding = self.policy.limits().get(index)?;
        let (limit, remaining) = self.decision.limit.zip(self.remaining())?;
        let is_concurrency = matches!(binding.params(), RuleParams::Held { .. });
        Some(BindingLimit { name: self.name_of(index), limit, remaining, is_concurrency })
    }

    /// Returns how long a denied client must wait; `None` if it was not denied, or waiting does not
    /// help.
    pub(crate) fn retry_after(&self) -> Option<Span> {
        self.decision.retry_after.filter(|_| self.is_denied())
    }

    /// Returns `retry_after` in whole seconds, at least one.
    pub(crate) fn retry_seconds(&self) -> Option<u64> {
        self.retry_after().map(|wait| wait.as_secs_ceil().max(1))
    }

    /// Returns how long it takes until the binding limit has fully reset.
    pub(crate) fn full_reset_after(&self) -> Span {
        self.decision.bound_reset_after
    }

    /// Returns what the older dialects call reset: after a denial, the time until the same cost fits.
    ///
    /// Clients sleep that long before they retry, and drafts 6 and 7 require `retry-after` to be no
    /// earlier. A bucket allows the next request long before it is empty, so the time of a full
    /// reset would make them wait for nothing. A client that was not denied wants to know when the
    /// full quota is available again, and for a cost that never fits no other time is known.
    pub(crate) fn reset(&self) -> Span {
        self.retry_after().unwrap_or(self.full_reset_after())
    }

    /// Returns `reset` in whole seconds; after a denial it equals `retry-after`.
    pub(crate) fn reset_seconds(&self) -> u64 {
        self.retry_seconds().unwrap_or(self.full_reset_after().as_secs_ceil())
    }
}

/// The numbers of the binding limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BindingLimit<'a> {
    pub(crate) name: LimitName<'a>,
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    /// Whether the limit counts leases, which are returned, rather than cost.
    pub(crate) is_concurrency: bool,
}

impl BindingLimit<'_> {
    pub(crate) fn used(&self) -> u64 {
        self.limit.saturating_sub(self.remaining)
    }
}
