//! One operation as a protocol has read it: whose, of which limits, how much.

use std::borrow::Cow;
use std::rc::Rc;

use tollgate::Enforce;
use tollgate_core::{Act, Decimal, Id, Item, Key, Limit, MissingKey, Name, Op, Policy};

use crate::engine::active_policy::ActivePolicy;
use crate::engine::required_keys::RequiredKeys;

/// The limits of one operation.
#[derive(Debug)]
enum Limits<'a> {
    /// Those of a policy, as they are.
    Of(&'a [Limit]),
    /// Those of a policy for someone who is held to more or less.
    Scaled(Box<[Limit]>),
    /// One that came with the operation.
    Inline(Rc<Limit>),
}

/// Whose operation it is.
#[derive(Debug)]
pub(crate) enum Keys<'a> {
    /// The nameless key.
    One(Key<'a>),
    /// A key for each kind of subject; that of the nameless one is called "".
    Named(Box<[(&'a str, Key<'a>)]>),
}

/// What an operation may say beside whose it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options<'a> {
    /// One, if not said.
    pub(crate) cost: Option<u64>,
    pub(crate) factor: Option<Decimal>,
    pub(crate) id: Option<Id<'a>>,
}

/// One operation, with all that it needs.
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    policy_name: &'a Name,
    /// What is known of the policy, if it has any but a name.
    policy: Option<&'a ActivePolicy>,
    limits: Limits<'a>,
    /// The limits of the candidate, if they are not as they are.
    beside: Option<Box<[Limit]>>,
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

impl<'a> Keys<'a> {
    pub(crate) fn of(&self, kind: Option<&str>) -> Option<Key<'a>> {
        match (self, kind) {
            (Keys::One(key), None) => Some(*key),
            (Keys::One(_), Some(_)) => None,
            (Keys::Named(keys), kind) => {
                let kind = kind.unwrap_or("");
                keys.iter().find(|(name, _)| *name == kind).map(|(_, key)| *key)
            }
        }
    }

    /// Those that are counted in one, for choosing among clients: in the order of their names, however
    /// the limits and the request have them.
    fn together(&self, required: &RequiredKeys) -> Vec<u8> {
        let mut named: Vec<_> = required.named.iter().map(|kind| Some(kind.as_str())).collect();
        named.sort_unstable();
        let counted = named.into_iter().chain(required.nameless.then_some(None));
        let keys: Vec<&[u8]> =
            counted.filter_map(|kind| self.of(kind)).map(Key::as_bytes).collect();
        keys.join(&0)
    }
}

impl<'a> Operation<'a> {
    /// An operation of a policy.
    ///
    /// # Errors
    /// What is wrong with it, in words.
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
        let beside = policy.scaled_candidate(&keys, options.factor);
        let (policy_name, policy) = (policy.name(), Some(policy));
        let cost = options.cost.unwrap_or(1);
        Ok(Operation { policy_name, policy, limits, beside, keys, act, cost, id: options.id })
    }

    /// An operation of a limit that came with it, under the nameless key.
    pub(crate) fn inline(
        policy_name: &'a Name,
        limit: Rc<Limit>,
        key: Key<'a>,
        act: Act,
        cost: u64,
    ) -> Operation<'a> {
        let (limits, keys) = (Limits::Inline(limit), Keys::One(key));
        Operation { policy_name, policy: None, limits, beside: None, keys, act, cost, id: None }
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

    /// A limit that this operation was held to, as it is written in JSON.
    pub(crate) fn line(&self, place: usize) -> Cow<'a, str> {
        match (&self.limits, self.policy) {
            (Limits::Of([_, ..]), Some(policy)) => Cow::Borrowed(policy.line(place)),
            (limits, _) => match limits.as_slice().get(place) {
                Some(limit) => serde_json::Value::from(limit.to_string()).to_string().into(),
                None => Cow::Borrowed("null"),
            },
        }
    }

    /// The policy with the limits that this operation was held to.
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

    /// Whether whoever is denied is to be turned away.
    pub(crate) fn is_enforced(&self) -> bool {
        match self.policy.map(|policy| (policy.enforce(), policy.required())) {
            None => true,
            Some((some @ Enforce::Percent(_), required)) => {
                some.holds_for(&self.keys.together(required))
            }
            // Whoever it is.
            Some((other, _)) => other.holds_for(b""),
        }
    }

    /// The same operation of the limits that run beside.
    pub(crate) fn candidate(&self) -> Option<CandidateOperation<'_, 'a>> {
        let policy = self.policy?.candidate()?;
        let limits = self.beside.as_deref().unwrap_or(policy.limits());
        Some(CandidateOperation { policy, limits, operation: self })
    }

    /// Each limit with whom it counts.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item<'_>> {
        self.items_of(self.limits.as_slice())
    }

    fn items_of<'o>(&'o self, limits: &'o [Limit]) -> impl Iterator<Item = Item<'o>> {
        // That every subject has a key was seen when it was made.
        limits.iter().filter_map(|limit| limit.item(|kind| self.keys.of(kind)).ok())
    }

    /// How many limits there are.
    pub(crate) fn len(&self) -> usize {
        self.limits.as_slice().len()
    }

    /// The operation, over its items.
    pub(crate) fn op<'o>(&'o self, items: &'o [Item<'o>]) -> Op<'o> {
        Op { policy: self.policy_name, items, act: self.act, cost: self.cost, id: self.id }
    }
}

/// An operation of the limits that run beside those that are asked.
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

/// Sees to it that whoever is counted is known.
fn require_keys(limits: &[Limit], keys: &Keys<'_>) -> Result<(), MissingKey> {
    limits.iter().try_for_each(|limit| limit.item(|kind| keys.of(kind)).map(drop))
}
