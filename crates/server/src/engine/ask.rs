//! One operation as a protocol has read it: whose, of which limits, how much.

use std::borrow::Cow;
use std::rc::Rc;

use tollgate::Enforce;
use tollgate_core::{Act, Decimal, Id, Item, Key, Limit, Name, NoKey, Op, Policy};

use crate::engine::kinds::Kinds;
use crate::engine::regime::Regime;

/// The limits of one operation.
#[derive(Debug)]
enum Limits<'a> {
    /// Those of a policy, as they are.
    Of(&'a [Limit]),
    /// Those of a policy for someone who is held to more or less.
    Scaled(Box<[Limit]>),
    /// One that came with the operation.
    Travelling(Rc<Limit>),
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
pub(crate) struct Ask<'a> {
    policy: &'a Name,
    /// What is known of the policy, if it has any but a name.
    regime: Option<&'a Regime>,
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
            Limits::Travelling(limit) => std::slice::from_ref(limit),
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
    fn together(&self, kinds: &Kinds) -> Vec<u8> {
        let mut named: Vec<_> = kinds.named.iter().map(|kind| Some(kind.as_str())).collect();
        named.sort_unstable();
        let counted = named.into_iter().chain(kinds.nameless.then_some(None));
        let keys: Vec<&[u8]> =
            counted.filter_map(|kind| self.of(kind)).map(Key::as_bytes).collect();
        keys.join(&0)
    }
}

impl<'a> Ask<'a> {
    /// An operation of a policy.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn new(
        regime: &'a Regime,
        keys: Keys<'a>,
        act: Act,
        options: Options<'a>,
    ) -> Result<Ask<'a>, String> {
        if act.needs_id() && options.id.is_none() {
            return Err(format!("{act} needs an id"));
        }
        let limits = match regime.enforce() {
            Enforce::Off => Limits::Of(&[]),
            _ => match regime.scaled(&keys, options.factor).map_err(|error| error.to_string())? {
                None => Limits::Of(regime.policy().limits()),
                Some(scaled) => Limits::Scaled(scaled),
            },
        };
        require_keys(regime.policy().limits(), &keys).map_err(|missing| missing.to_string())?;
        let beside = regime.scaled_candidate(&keys, options.factor);
        let (policy, regime) = (regime.name(), Some(regime));
        let cost = options.cost.unwrap_or(1);
        Ok(Ask { policy, regime, limits, beside, keys, act, cost, id: options.id })
    }

    /// An operation of a limit that came with it, under the nameless key.
    pub(crate) fn travelling(
        policy: &'a Name,
        limit: Rc<Limit>,
        key: Key<'a>,
        act: Act,
        cost: u64,
    ) -> Ask<'a> {
        let (limits, keys) = (Limits::Travelling(limit), Keys::One(key));
        Ask { policy, regime: None, limits, beside: None, keys, act, cost, id: None }
    }

    pub(crate) fn policy(&self) -> &Name {
        self.policy
    }

    pub(crate) fn act(&self) -> Act {
        self.act
    }

    pub(crate) fn regime(&self) -> Option<&'a Regime> {
        self.regime
    }

    /// A limit that this operation was held to, as it is written in JSON.
    pub(crate) fn line(&self, place: usize) -> Cow<'a, str> {
        match (&self.limits, self.regime) {
            (Limits::Of([_, ..]), Some(regime)) => Cow::Borrowed(regime.line(place)),
            (limits, _) => match limits.as_slice().get(place) {
                Some(limit) => serde_json::Value::from(limit.to_string()).to_string().into(),
                None => Cow::Borrowed("null"),
            },
        }
    }

    /// The policy with the limits that this operation was held to.
    pub(crate) fn policy_as_asked(&self, regime: &'a Regime) -> Cow<'a, Policy> {
        match &self.limits {
            Limits::Of([]) => Cow::Owned(Policy::new(regime.name().clone(), Vec::new())),
            Limits::Scaled(limits) => {
                Cow::Owned(Policy::new(regime.name().clone(), limits.to_vec()))
            }
            _ => Cow::Borrowed(regime.policy()),
        }
    }

    pub(crate) fn key(&self) -> Option<Key<'a>> {
        self.keys.of(None)
    }

    /// Whether whoever is denied is to be turned away.
    pub(crate) fn is_enforced(&self) -> bool {
        match self.regime.map(|regime| (regime.enforce(), regime.kinds())) {
            None => true,
            Some((some @ Enforce::Share(_), kinds)) => some.holds_for(&self.keys.together(kinds)),
            // Whoever it is.
            Some((other, _)) => other.holds_for(b""),
        }
    }

    /// The same operation of the limits that run beside.
    pub(crate) fn candidate(&self) -> Option<Beside<'_, 'a>> {
        let policy = self.regime?.candidate()?;
        let limits = self.beside.as_deref().unwrap_or(policy.limits());
        Some(Beside { policy, limits, ask: self })
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
        Op { policy: self.policy, items, act: self.act, cost: self.cost, id: self.id }
    }
}

/// An operation of the limits that run beside those that are asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beside<'o, 'a> {
    policy: &'a Policy,
    limits: &'o [Limit],
    ask: &'o Ask<'a>,
}

impl<'o, 'a: 'o> Beside<'o, 'a> {
    pub(crate) fn items(self) -> impl Iterator<Item = Item<'o>> {
        self.ask.items_of(self.limits)
    }

    pub(crate) fn len(self) -> usize {
        self.limits.len()
    }

    pub(crate) fn op(self, items: &'o [Item<'o>]) -> Op<'o> {
        Op { policy: self.policy.name(), ..self.ask.op(items) }
    }
}

/// Sees to it that whoever is counted is known.
fn require_keys(limits: &[Limit], keys: &Keys<'_>) -> Result<(), NoKey> {
    limits.iter().try_for_each(|limit| limit.item(|kind| keys.of(kind)).map(drop))
}
