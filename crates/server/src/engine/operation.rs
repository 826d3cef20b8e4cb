//! One operation as a protocol has parsed it: what it asks for, and the limits it is decided by.

use std::borrow::Cow;
use std::rc::Rc;

use tollgate::Enforce;
use tollgate_core::{Act, Item, Key, Limit, Name, Op, Policy, Request, RequestError};

use crate::engine::active_policy::{ActivePolicy, ChangedLimits};
use crate::engine::compact_request::CompactRequest;
use crate::policy::required_keys::RequiredKeys;

/// The limits that an operation is decided by.
#[derive(Debug)]
enum Limits<'a> {
    /// Those of a policy.
    Policy(&'a ActivePolicy),
    /// Those of a policy, after overrides and factor.
    Changed(&'a ActivePolicy, Box<ChangedLimits>),
    /// One that came with the operation, under the name of its policy.
    Inline(&'a Name, Rc<Limit>),
}

/// One operation on a policy, or on a limit that came with it.
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    limits: Limits<'a>,
    request: CompactRequest<'a>,
    act: Act,
}

impl<'a> Operation<'a> {
    /// Creates an operation on a policy.
    ///
    /// # Errors
    /// Fails with a message if a key or an id is missing or invalid, no limit has the unit of a cost, or a
    /// limit cannot be scaled by the factor.
    pub(crate) fn new(
        policy: &'a ActivePolicy,
        act: Act,
        request: Request<'a>,
    ) -> Result<Operation<'a>, String> {
        validate(policy.policy(), act, &request)?;
        let limits = match policy.changed(&request).map_err(|error| error.to_string())? {
            None => Limits::Policy(policy),
            Some(changed) => Limits::Changed(policy, Box::new(changed)),
        };
        Ok(Operation { limits, request: CompactRequest::new(request), act })
    }

    /// Creates an operation on a limit that came with it, under the nameless key.
    pub(crate) fn inline(
        policy: &'a Name,
        limit: Rc<Limit>,
        key: Key<'a>,
        act: Act,
        cost: u64,
    ) -> Operation<'a> {
        let request = CompactRequest::Plain { key, cost };
        Operation { limits: Limits::Inline(policy, limit), request, act }
    }

    pub(crate) fn policy_name(&self) -> &Name {
        match &self.limits {
            Limits::Policy(policy) | Limits::Changed(policy, _) => policy.name(),
            Limits::Inline(policy, _) => policy,
        }
    }

    /// Returns the name that the state is kept under.
    fn state_name(&self) -> &Name {
        match &self.limits {
            Limits::Policy(policy) | Limits::Changed(policy, _) => policy.state_name(),
            Limits::Inline(policy, _) => policy,
        }
    }

    pub(crate) fn act(&self) -> Act {
        self.act
    }

    /// Returns the policy; `None` if the limit came with the operation.
    pub(crate) fn policy(&self) -> Option<&'a ActivePolicy> {
        match self.limits {
            Limits::Policy(policy) | Limits::Changed(policy, _) => Some(policy),
            Limits::Inline(..) => None,
        }
    }

    /// Returns a limit that this operation was decided by, as a JSON string.
    pub(crate) fn line(&self, position: usize) -> Cow<'a, str> {
        match self.limits {
            Limits::Policy(policy) => Cow::Borrowed(policy.line(position)),
            _ => match self.limit(position) {
                Some(limit) => serde_json::Value::from(limit.to_string()).to_string().into(),
                None => Cow::Borrowed("null"),
            },
        }
    }

    /// Returns the policy with the limits that this operation was decided by; `None` if the limit came with
    /// the operation.
    pub(crate) fn policy_as_asked(&self) -> Option<Cow<'a, Policy>> {
        match &self.limits {
            Limits::Policy(policy) => Some(Cow::Borrowed(policy.applied())),
            Limits::Changed(policy, changed) => {
                Some(Cow::Owned(Policy::new(policy.name().clone(), changed.limits.clone())))
            }
            Limits::Inline(..) => None,
        }
    }

    /// Returns the nameless key.
    pub(crate) fn key(&self) -> Option<Key<'_>> {
        Key::new(self.request.key_of(None)?).ok()
    }

    /// Returns whether a denial is enforced.
    pub(crate) fn is_enforced(&self) -> bool {
        let Some(policy) = self.policy() else { return true };
        match policy.enforce() {
            percent @ Enforce::Percent(_) => {
                percent.holds_for(&joined_keys(&self.request, policy.required()))
            }
            // These do not depend on the key.
            other => other.holds_for(b""),
        }
    }

    /// Returns whether a denial is answered as an admission, and only what stands behind the proxy learns of it.
    pub(crate) fn is_silent(&self) -> bool {
        self.policy().is_some_and(|policy| policy.enforce() == Enforce::Silent)
    }

    /// Returns the same operation on the candidate.
    pub(crate) fn candidate(&self) -> Option<CandidateOperation<'_, 'a>> {
        let policy = self.policy()?.candidate()?;
        let limits = match &self.limits {
            Limits::Changed(_, changed) => &changed.candidate,
            _ => policy.limits(),
        };
        Some(CandidateOperation { policy, limits, request: &self.request, act: self.act })
    }

    /// Returns each limit with the subject it counts and the cost it takes.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item<'_>> {
        // Every subject has a key: that was checked when the operation was created.
        self.limits().iter().filter_map(|limit| self.request.item(limit).ok())
    }

    /// Returns the limit at this position that the operation was decided by.
    pub(crate) fn limit(&self, position: usize) -> Option<&Limit> {
        self.limits().get(position)
    }

    fn limits(&self) -> &[Limit] {
        match &self.limits {
            Limits::Policy(policy) => policy.applied().limits(),
            Limits::Changed(_, changed) => &changed.limits,
            Limits::Inline(_, limit) => std::slice::from_ref(limit),
        }
    }

    /// Returns the number of limits.
    pub(crate) fn len(&self) -> usize {
        self.limits().len()
    }

    /// Returns the operation over its items, for the store.
    ///
    /// # Errors
    /// Fails if the id is invalid, which was checked when the operation was created.
    pub(crate) fn op<'o>(&'o self, items: &'o [Item<'o>]) -> Result<Op<'o>, RequestError> {
        self.request.op(self.state_name(), items, self.act)
    }
}

/// The same operation on the policy's candidate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CandidateOperation<'o, 'a> {
    policy: &'a Policy,
    limits: &'o [Limit],
    request: &'o CompactRequest<'a>,
    act: Act,
}

impl<'o, 'a: 'o> CandidateOperation<'o, 'a> {
    pub(crate) fn items(self) -> impl Iterator<Item = Item<'o>> {
        self.limits.iter().filter_map(move |limit| self.request.item(limit).ok())
    }

    pub(crate) fn len(self) -> usize {
        self.limits.len()
    }

    pub(crate) fn op<'i>(self, items: &'i [Item<'i>]) -> Result<Op<'i>, RequestError>
    where
        'o: 'i,
    {
        let mut op = self.request.op(self.policy.name(), items, self.act)?;
        // The client asks for the status of the policy's own limits.
        op.statuses = None;
        Ok(op)
    }
}

/// Checks a request against all limits of a policy, also those that are not counted because enforcement is off.
fn validate(policy: &Policy, act: Act, request: &Request<'_>) -> Result<(), String> {
    let items = request.items(policy.limits()).map_err(|error| error.to_string())?;
    let op = request.op(policy.name(), &items, act).map_err(|error| error.to_string())?;
    if act.needs_id() && op.id.is_none() {
        return Err(format!("{act} needs an id"));
    }
    Request::expect_support(policy, act).map_err(|error| error.to_string())
}

/// Joins the keys that are counted, to choose a percentage of clients by. They are in the order of their names,
/// whatever order the limits and the request have them in.
fn joined_keys(request: &CompactRequest<'_>, required: &RequiredKeys) -> Vec<u8> {
    let mut named: Vec<_> = required.named.iter().map(|name| Some(name.as_str())).collect();
    named.sort_unstable();
    let counted = named.into_iter().chain(required.nameless.then_some(None));
    let keys: Vec<&[u8]> = counted.filter_map(|subject| request.key_of(subject)).collect();
    keys.join(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command of a pipeline is moved a few times.
    #[test]
    fn an_operation_is_small() {
        assert!(size_of::<Operation<'_>>() <= 72, "{} bytes", size_of::<Operation<'_>>());
    }
}
