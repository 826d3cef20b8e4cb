//! What stands behind every protocol: the policies by their names, and the store that counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_core::{Answered, Decision, Item, Op, Policy, Store, StoreError};

use crate::ask::Ask;

/// What one operation was answered.
pub(crate) type Answer = Result<Decision, StoreError>;

/// One is by far the most common number of operations that come together.
pub(crate) type Answers = SmallVec<[Answer; 1]>;

/// All policies, by name.
#[derive(Debug, Default)]
pub(crate) struct Policies(BTreeMap<Box<str>, Policy>);

impl Policies {
    pub(crate) fn new(policies: impl IntoIterator<Item = Policy>) -> Policies {
        let named = |policy: Policy| (policy.name().as_str().into(), policy);
        Policies(policies.into_iter().map(named).collect())
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<&Policy> {
        self.0.get(std::str::from_utf8(name).ok()?)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(AsRef::as_ref)
    }
}

/// Answers operations, whatever protocol they came by.
pub(crate) struct Engine {
    store: Arc<dyn Store>,
    policies: Policies,
}

impl Engine {
    pub(crate) fn new(store: Arc<dyn Store>, policies: Policies) -> Engine {
        Engine { store, policies }
    }

    pub(crate) fn policies(&self) -> &Policies {
        &self.policies
    }

    /// Answers operations, in their order and in one call of the store.
    pub(crate) async fn answer<'o, 'a: 'o>(
        &self,
        asks: impl Iterator<Item = &'o Ask<'a>> + Clone,
    ) -> Answers {
        let (asked, limits) =
            asks.clone().fold((0, 0), |(n, limits), ask| (n + 1, limits + ask.len()));
        if asked == 0 {
            return Answers::new();
        }
        let mut items: SmallVec<[Item<'_>; 1]> = SmallVec::with_capacity(limits);
        items.extend(asks.clone().flat_map(Ask::items));
        let mut ops: SmallVec<[Op<'_>; 1]> = SmallVec::with_capacity(asked);
        let mut left = items.as_slice();
        for ask in asks {
            let (own, others) = left.split_at_checked(ask.len()).unwrap_or_default();
            ops.push(ask.op(own));
            left = others;
        }
        let mut out: Answers = ops.iter().map(|_| Err(StoreError::unanswered())).collect();
        if let Answered::Later(later) = self.store.apply(&ops, None, &mut out) {
            later.await;
        }
        out
    }
}
