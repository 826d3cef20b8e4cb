//! One operation as a protocol has read it: whose, of which limits, how much.

use std::rc::Rc;

use tollgate_core::{Act, Id, Item, Key, Limit, Name, NoKey, Op, Policy};

/// The limits of one operation.
#[derive(Debug)]
pub(crate) enum Limits<'a> {
    /// Those of a policy, as they are.
    Of(&'a Policy),
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
    /// A key for each kind of subject.
    Named(Box<[(&'a str, Key<'a>)]>),
}

/// One operation, with all that it needs.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    policy: &'a Name,
    limits: Limits<'a>,
    keys: Keys<'a>,
    act: Act,
    cost: u64,
    id: Option<Id<'a>>,
}

impl Limits<'_> {
    fn as_slice(&self) -> &[Limit] {
        match self {
            Limits::Of(policy) => policy.limits(),
            Limits::Scaled(limits) => limits,
            Limits::Travelling(limit) => std::slice::from_ref(limit),
        }
    }
}

impl<'a> Keys<'a> {
    fn of(&self, kind: Option<&str>) -> Option<Key<'a>> {
        match (self, kind) {
            (Keys::One(key), None) => Some(*key),
            (Keys::One(_), Some(_)) => None,
            (Keys::Named(keys), kind) => {
                let kind = kind.unwrap_or("");
                keys.iter().find(|(name, _)| *name == kind).map(|(_, key)| *key)
            }
        }
    }
}

impl<'a> Ask<'a> {
    /// An operation of these limits.
    ///
    /// # Errors
    /// If one of them counts a subject for which there is no key.
    pub(crate) fn new(
        policy: &'a Name,
        limits: Limits<'a>,
        keys: Keys<'a>,
        act: Act,
    ) -> Result<Ask<'a>, NoKey> {
        for limit in limits.as_slice() {
            limit.item(|kind| keys.of(kind))?;
        }
        Ok(Ask { policy, limits, keys, act, cost: 1, id: None })
    }

    pub(crate) fn cost(self, cost: u64) -> Ask<'a> {
        Ask { cost, ..self }
    }

    pub(crate) fn id(self, id: Option<Id<'a>>) -> Ask<'a> {
        Ask { id, ..self }
    }

    /// Each limit with whom it counts.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item<'_>> {
        // That every subject has a key was seen when it was made.
        self.limits.as_slice().iter().filter_map(|limit| limit.item(|kind| self.keys.of(kind)).ok())
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
