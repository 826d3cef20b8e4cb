//! One operation as a protocol has parsed it: its limits, keys, cost and id.

use std::borrow::Cow;
use std::rc::Rc;

use tollgate::Enforce;
use tollgate_core::{Act, Decimal, Id, Item, Key, Limit, MissingKey, Name, Op, Policy};

use crate::engine::active_policy::ActivePolicy;
use crate::engine::keys::Keys;

/// The limits that an operation is decided by.
#[derive(Debug)]
enum Limits<'a> {
    /// Those of the policy.
    Of(&'a [Limit]),
    /// Those of the policy, after overrides and factor.
    Scaled(Box<[Limit]>),
    /// A limit that came with the operation.
    Inline(Rc<Limit>),
}

/// What an operation may have beside its keys.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options<'a> {
    /// Default: 1.
    pub(crate) cost: Option<u64>,
    pub(crate) factor: Option<Decimal>,
    pub(crate) id: Option<Id<'a>>,
}

/// One operation on a policy, or on a limit that came with it.
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    policy_name: &'a Name,
    /// The policy; `None` if the limit came with the operation.
    policy: Option<&'a ActivePolicy>,
    limits: Limits<'a>,
    /// The limits of the candidate, if overrides or factor change them.
    candidate_limits: Option<Box<[Limit]>>,
    keys: Keys<'a>,
    act: Act,
    cost: u64,
    id: Option<Id<'a>>,
}

impl Limits<'_> {
    fn as_slice(&self) -> &[Limit] {
        match self {
            Limits::Of(limits) => limits,
            Limits::Scaled(limits) => limits,
            Limits::Inline(limit) => std::slice::from_ref(limit),
        }
    }
}

impl<'a> Operation<'a> {
    /// Creates an operation on a policy.
    ///
    /// # Errors
    /// Fails with a message if a key or an id is missing, or a limit cannot be scaled by the factor.
    pub(crate) fn new(
        policy: &'a ActivePolicy,
        keys: Keys<'a>,
        act: Act,
        options: Options<'a>,
    ) -> Result<Operation<'a>, String> {
        if act.needs_id() && options.id.is_none() {
            return Err(format!("{act} needs an id"));
        }
        let limits = match policy.enforce() {
            Enforce::Off => Limits::Of(&[]),
            _ => match policy.scaled(&keys, options.factor).map_err(|error| error.to_string())? {
                None => Limits::Of(policy.policy().limits()),
                Some(scaled) => Limits::Scaled(scaled),
            },
        };
        require_keys(policy.policy().limits(), &keys).map_err(|missing| missing.to_string())?;
        let candidate_limits = policy.scaled_candidate(&keys, options.factor);
        let (policy_name, policy) = (policy.name(), Some(policy));
        let cost = options.cost.unwrap_or(1);
        let id = options.id;
        Ok(Operation { policy_name, policy, limits, candidate_limits, keys, act, cost, id })
    }

    /// Creates an operation on a limit that came with it, under the nameless key.
    pub(crate) fn inline(
        policy_name: &'a Name,
        limit: Rc<Limit>,
        key: Key<'a>,
        act: Act,
        cost: u64,
    ) -> Operation<'a> {
        let (limits, keys) = (Limits::Inline(limit), Keys::One(key));
        let (policy, candidate_limits, id) = (None, None, None);
        Operation { policy_name, policy, limits, candidate_limits, keys, act, cost, id }
    }

    pub(crate) fn policy_name(&self) -> &Name {
        self.policy_name
    }

    pub(crate) fn act(&self) -> Act {
        self.act
    }

    pub(crate) fn policy(&self) -> Option<&'a ActivePolicy> {
        self.policy
    }

    /// Returns a limit that this operation was decided by, as a JSON string.
    pub(crate) fn line(&self, position: usize) -> Cow<'a, str> {
        match (&self.limits, self.policy) {
            (Limits::Of([_, ..]), Some(policy)) => Cow::Borrowed(policy.line(position)),
            (limits, _) => match limits.as_slice().get(position) {
                Some(limit) => serde_json::Value::from(limit.to_string()).to_string().into(),
                None => Cow::Borrowed("null"),
            },
        }
    }

    /// Returns the policy with the limits that this operation was decided by.
    pub(crate) fn policy_as_asked(&self, policy: &'a ActivePolicy) -> Cow<'a, Policy> {
        match &self.limits {
            Limits::Of([]) => Cow::Owned(Policy::new(policy.name().clone(), Vec::new())),
            Limits::Scaled(limits) => {
                Cow::Owned(Policy::new(policy.name().clone(), limits.to_vec()))
            }
            _ => Cow::Borrowed(policy.policy()),
        }
    }

    pub(crate) fn key(&self) -> Option<Key<'a>> {
        self.keys.of(None)
    }

    /// Returns whether a denial is enforced.
    pub(crate) fn is_enforced(&self) -> bool {
        match self.policy.map(|policy| (policy.enforce(), policy.required())) {
            None => true,
            Some((percent @ Enforce::Percent(_), required)) => {
                percent.holds_for(&self.keys.joined(required))
            }
            // These do not depend on the key.
            Some((other, _)) => other.holds_for(b""),
        }
    }

    /// Returns the same operation on the candidate.
    pub(crate) fn candidate(&self) -> Option<CandidateOperation<'_, 'a>> {
        let policy = self.policy?.candidate()?;
        let limits = self.candidate_limits.as_deref().unwrap_or(policy.limits());
        Some(CandidateOperation { policy, limits, operation: self })
    }

    /// Returns each limit with the subject it counts.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item<'_>> {
        self.items_of(self.limits.as_slice())
    }

    fn items_of<'o>(&'o self, limits: &'o [Limit]) -> impl Iterator<Item = Item<'o>> {
        // Every subject has a key: that was checked when the operation was created.
        limits.iter().filter_map(|limit| limit.item(|subject| self.keys.of(subject)).ok())
    }

    /// Returns the number of limits.
    pub(crate) fn len(&self) -> usize {
        self.limits.as_slice().len()
    }

    /// Returns the operation over its items, for the store.
    pub(crate) fn op<'o>(&'o self, items: &'o [Item<'o>]) -> Op<'o> {
        Op { policy: self.policy_name, items, act: self.act, cost: self.cost, id: self.id }
    }
}

/// The same operation on the policy's candidate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CandidateOperation<'o, 'a> {
    policy: &'a Policy,
    limits: &'o [Limit],
    operation: &'o Operation<'a>,
}

impl<'o, 'a: 'o> CandidateOperation<'o, 'a> {
    pub(crate) fn items(self) -> impl Iterator<Item = Item<'o>> {
        self.operation.items_of(self.limits)
    }

    pub(crate) fn len(self) -> usize {
        self.limits.len()
    }

    pub(crate) fn op(self, items: &'o [Item<'o>]) -> Op<'o> {
        Op { policy: self.policy.name(), ..self.operation.op(items) }
    }
}

/// Fails if a limit counts a subject that has no key.
fn require_keys(limits: &[Limit], keys: &Keys<'_>) -> Result<(), MissingKey> {
    limits.iter().try_for_each(|limit| limit.item(|subject| keys.of(subject)).map(drop))
}
