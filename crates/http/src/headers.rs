//! What a client is told of one decision, whatever the dialect.

use std::borrow::Cow;

use tollgate_core::remote::RuleParams;
use tollgate_core::{Decision, Key, Limit, Policy, Span, Time};

use crate::dialect::Dialect;
use crate::fields::Fields;
use crate::structured::push_number;
use crate::write;

/// What a client is told of one decision.
///
/// ```
/// use tollgate_core::{Act, Key, Name, Op, PlainStore, Policy, Time};
/// use tollgate_http::{Dialect, RateLimitHeaders};
///
/// let policy = Policy::parse(Name::new("api")?, ["gcra 1/s burst 2", "fixed-window 1000/h"])?;
/// let items = policy.items(|_| Key::new(b"203.0.113.9").ok())?;
/// let check = Op { policy: policy.name(), items: &items, act: Act::Check, cost: 2, id: None };
/// let store = PlainStore::default();
/// assert!(store.apply_one(&check, Time::EPOCH)?.allowed);
///
/// let denied = store.apply_one(&check, Time::EPOCH)?;
/// let told = RateLimitHeaders::new(&policy, &denied, Time::EPOCH);
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
/// The policy must be the one that was asked. If it has fewer limits than the decision speaks of,
/// there are fewer fields.
#[derive(Debug, Clone, Copy)]
pub struct RateLimitHeaders<'a> {
    policy: &'a Policy,
    decision: &'a Decision,
    now: Time,
    key: Option<Key<'a>>,
}

impl<'a> RateLimitHeaders<'a> {
    /// A decision of this policy at this instant.
    #[must_use]
    pub fn new(policy: &'a Policy, decision: &'a Decision, now: Time) -> RateLimitHeaders<'a> {
        RateLimitHeaders { policy, decision, now, key: None }
    }

    /// Under whose key. Only [`Dialect::Draft8`] says it: the partition `pk` of all limits is a
    /// part of its hash.
    ///
    /// The hash is not keyed, since that is how the dialect has it. Whoever can guess a key can
    /// know it by its `pk`, so give it only if that is no secret to those who see the answer.
    #[must_use]
    pub fn key(self, key: Key<'a>) -> RateLimitHeaders<'a> {
        RateLimitHeaders { key: Some(key), ..self }
    }

    /// What the limit that binds is called: the name of the policy, and if it has several limits,
    /// its place in it counted from 1 (`login-2`). It is what a
    /// [problem](crate::Problem::quota_exceeded) names as violated. `None` if the policy has no
    /// such limit.
    #[must_use]
    pub fn limit_name(&self) -> Option<Cow<'a, str>> {
        self.policy.limits().get(self.decision.bound_by)?;
        let name = self.name_of(self.decision.bound_by);
        if name.place.is_none() {
            return Some(Cow::Borrowed(name.policy));
        }
        let mut text = String::new();
        name.push_to(&mut text);
        Some(Cow::Owned(text))
    }

    /// Calls `each` with every header field: a lower-case name and its value. No name comes twice.
    pub fn fields(&self, dialect: Dialect, mut each: impl FnMut(&'static str, &str)) {
        let mut fields = Fields::new(&mut each);
        match dialect {
            Dialect::Ietf => write::named::ietf(self, &mut fields),
            Dialect::Draft8 => write::named::draft_8(self, &mut fields),
            Dialect::Draft7 => write::drafts::seven(self, &mut fields),
            Dialect::Draft6 => write::drafts::six(self, &mut fields),
            Dialect::XEpoch => write::x::epoch(self, &mut fields),
            Dialect::XDelta => write::x::delta(self, &mut fields),
            Dialect::Leaky => write::leaky::leaky(self, &mut fields),
            Dialect::None => {}
        }
        if let Some(seconds) = self.retry_seconds() {
            fields.number("retry-after", seconds);
        }
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

    pub(crate) fn is_denied(&self) -> bool {
        !self.decision.allowed
    }

    /// Every limit of the policy, with its name.
    pub(crate) fn limits(&self) -> impl Iterator<Item = (LimitName<'a>, &'a Limit)> {
        let limits = self.policy.limits().iter().enumerate();
        limits.map(|(index, limit)| (self.name_of(index), limit))
    }

    fn name_of(&self, index: usize) -> LimitName<'a> {
        let several = self.policy.limits().len() > 1;
        let place = u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1);
        LimitName { policy: self.policy_name(), place: several.then_some(place) }
    }

    /// The numbers of the limit that binds; `None` if nothing does.
    pub(crate) fn bound(&self) -> Option<Bound<'a>> {
        let index = self.decision.bound_by;
        let bound = self.policy.limits().get(index)?;
        let (limit, remaining) = self.decision.limit.zip(self.decision.remaining)?;
        let is_held = matches!(bound.params(), RuleParams::Held { .. });
        Some(Bound { name: self.name_of(index), limit, remaining, is_held })
    }

    /// How long a client that was denied must wait; `None` if it was not, or waiting does not help.
    pub(crate) fn retry(&self) -> Option<Span> {
        self.decision.retry_after.filter(|_| self.is_denied())
    }

    /// The same in whole seconds, and never at once.
    pub(crate) fn retry_seconds(&self) -> Option<u64> {
        self.retry().map(|wait| wait.as_secs_ceil().max(1))
    }

    /// How long until the limit that binds has reset.
    pub(crate) fn clear(&self) -> Span {
        self.decision.bound_reset_after
    }

    /// What the older dialects call reset: after a denial, when the same cost fits.
    ///
    /// Clients sleep that long before they try again, and drafts 6 and 7 want `retry-after` to be
    /// no earlier. A bucket lets the next one pass long before it is empty, so the time of a full
    /// reset would make them wait for nothing. Whoever was not denied wants to know when all is
    /// there again, and for a cost that never fits there is nothing else to say.
    pub(crate) fn reset(&self) -> Span {
        self.retry().unwrap_or(self.clear())
    }

    /// The same in whole seconds, and after a denial the same as `retry-after`.
    pub(crate) fn reset_seconds(&self) -> u64 {
        self.retry_seconds().unwrap_or(self.clear().as_secs_ceil())
    }
}

/// What one limit of a policy is called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitName<'a> {
    policy: &'a str,
    /// Counted from 1; `None` if it is the only one.
    place: Option<u64>,
}

impl LimitName<'_> {
    pub(crate) fn push_to(self, out: &mut String) {
        out.push_str(self.policy);
        if let Some(place) = self.place {
            out.push('-');
            push_number(out, place);
        }
    }
}

/// The numbers of the limit that binds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound<'a> {
    pub(crate) name: LimitName<'a>,
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    /// Whether it is held for a while rather than spent.
    pub(crate) is_held: bool,
}

impl Bound<'_> {
    pub(crate) fn used(&self) -> u64 {
        self.limit.saturating_sub(self.remaining)
    }
}
