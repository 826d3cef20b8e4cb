//! One operation as a protocol has parsed it: what it asks for, and the limits it is decided by.

use std::borrow::Cow;
use std::rc::Rc;

use tollgate::Enforce;
use tollgate_core::{Act, Item, Key, Limit, Name, Op, Policy, Request, RequestError, item_of_key};

use crate::engine::active_policy::{ActivePolicy, ChangedLimits};
use crate::policy::required_keys::RequiredKeys;

/// What an operation is decided by, and what it asks for. A box would be an allocation for every check.
#[derive(Debug)]
enum Target<'a> {
    /// The limits of a policy.
    Policy(&'a ActivePolicy, Request<'a>),
    /// The limits of a policy, after overrides and factor.
    Changed(&'a ActivePolicy, Box<(Request<'a>, ChangedLimits)>),
    /// A limit that came with the operation, under the name of its policy.
    Inline { policy: &'a Name, limit: Rc<Limit>, key: Key<'a>, cost: u64 },
}

/// One operation on a policy, or on a limit that came with it.
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    target: Target<'a>,
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
        let target = match policy.changed(&request).map_err(|error| error.to_string())? {
            None => Target::Policy(policy, request),
            Some(changed) => Target::Changed(policy, Box::new((request, changed))),
        };
        Ok(Operation { target, act })
    }

    /// Creates an operation on a limit that came with it, under the nameless key.
    pub(crate) fn inline(
        policy: &'a Name,
        limit: Rc<Limit>,
        key: Key<'a>,
        act: Act,
        cost: u64,
    ) -> Operation<'a> {
        Operation { target: Target::Inline { policy, limit, key, cost }, act }
    }

    /// Returns the request; `None` if the limit came with the operation.
    fn request(&self) -> Option<&Request<'a>> {
        match &self.target {
            Target::Policy(_, request) => Some(request),
            Target::Changed(_, changed) => Some(&changed.0),
            Target::Inline { .. } => None,
        }
    }

    pub(crate) fn policy_name(&self) -> &Name {
        match &self.target {
            Target::Policy(policy, _) | Target::Changed(policy, _) => policy.name(),
            Target::Inline { policy, .. } => policy,
        }
    }

    pub(crate) fn act(&self) -> Act {
        self.act
    }

    /// Returns the policy; `None` if the limit came with the operation.
    pub(crate) fn policy(&self) -> Option<&'a ActivePolicy> {
        match self.target {
            Target::Policy(policy, _) | Target::Changed(policy, _) => Some(policy),
            Target::Inline { .. } => None,
        }
    }

    /// Returns a limit that this operation was decided by, as a JSON string.
    pub(crate) fn line(&self, position: usize) -> Cow<'a, str> {
        match self.target {
            Target::Policy(policy, _) => Cow::Borrowed(policy.line(position)),
            _ => match self.limits().get(position) {
                Some(limit) => serde_json::Value::from(limit.to_string()).to_string().into(),
                None => Cow::Borrowed("null"),
            },
        }
    }

    /// Returns the policy with the limits that this operation was decided by; `None` if the limit came with
    /// the operation.
    pub(crate) fn policy_as_asked(&self) -> Option<Cow<'a, Policy>> {
        match &self.target {
            Target::Policy(policy, _) => Some(Cow::Borrowed(policy.applied())),
            Target::Changed(policy, changed) => {
                Some(Cow::Owned(Policy::new(policy.name().clone(), changed.1.limits.clone())))
            }
            Target::Inline { .. } => None,
        }
    }

    /// Returns the nameless key.
    pub(crate) fn key(&self) -> Option<Key<'_>> {
        match &self.target {
            Target::Inline { key, .. } => Some(*key),
            _ => Key::new(self.request()?.key_of(None)?).ok(),
        }
    }

    /// Returns whether a denial is enforced.
    pub(crate) fn is_enforced(&self) -> bool {
        let (Some(policy), Some(request)) = (self.policy(), self.request()) else { return true };
        match policy.enforce() {
            percent @ Enforce::Percent(_) => {
                percent.holds_for(&joined_keys(request, policy.required()))
            }
            // These do not depend on the key.
            other => other.holds_for(b""),
        }
    }

    /// Returns the same operation on the candidate.
    pub(crate) fn candidate(&self) -> Option<CandidateOperation<'_, 'a>> {
        let policy = self.policy()?.candidate()?;
        let limits = match &self.target {
            Target::Changed(_, changed) => &changed.1.candidate,
            _ => policy.limits(),
        };
        Some(CandidateOperation { policy, limits, request: self.request()?, act: self.act })
    }

    /// Returns each limit with the subject it counts and the cost it takes.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item<'_>> {
        // Every subject has a key: that was checked when the operation was created.
        self.limits().iter().filter_map(|limit| match &self.target {
            Target::Inline { key, cost, .. } => item_of_key(limit, *key, *cost).ok(),
            Target::Policy(_, request) => request.item(limit).ok(),
            Target::Changed(_, changed) => changed.0.item(limit).ok(),
        })
    }

    fn limits(&self) -> &[Limit] {
        match &self.target {
            Target::Policy(policy, _) => policy.applied().limits(),
            Target::Changed(_, changed) => &changed.1.limits,
            Target::Inline { limit, .. } => std::slice::from_ref(limit),
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
        match self.request() {
            Some(request) => request.op(self.policy_name(), items, self.act),
            None => Ok(Op::check(self.policy_name(), items).with_act(self.act)),
        }
    }
}

/// The same operation on the policy's candidate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CandidateOperation<'o, 'a> {
    policy: &'a Policy,
    limits: &'o [Limit],
    request: &'o Request<'a>,
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
    Ok(())
}

/// Joins the keys that are counted, to choose a percentage of clients by. They are in the order of their names,
/// whatever order the limits and the request have them in.
fn joined_keys(request: &Request<'_>, required: &RequiredKeys) -> Vec<u8> {
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
        assert!(size_of::<Operation<'_>>() <= 184, "{} bytes", size_of::<Operation<'_>>());
    }
}
