//! Passes each operation to the layer that its policy has chosen.

use std::sync::Arc;

use futures_util::future::join_all;
use tollgate_core::{Apply, Decision, Op, Store, StoreError, Time};

use super::deny_cache::RepeatsDenials;
use super::distribution::Distribution;
use super::local::Local;
use super::node::Node;
use super::policies::Policies;
use super::prefetch::PrefetchedKey;
use super::subset;
use super::write_behind::UnwrittenKey;

/// A store that decides by the distribution of each policy.
pub(crate) struct Distribute<S> {
    store: Arc<S>,
    policies: Arc<Policies>,
    pub(super) write_behind: Local<S, UnwrittenKey>,
    pub(super) prefetch: Local<S, PrefetchedKey>,
}

impl<S: RepeatsDenials + 'static> Distribute<S> {
    pub(crate) fn new(store: Arc<S>, policies: Arc<Policies>, node: &Node) -> Distribute<S> {
        let write_behind = Local::new(Arc::clone(&store), node.clone());
        let prefetch = Local::new(Arc::clone(&store), node.clone());
        Distribute { store, policies, write_behind, prefetch }
    }

    /// Returns the store that decides strictly.
    pub(crate) fn store(&self) -> &S {
        &self.store
    }

    #[inline(always)]
    fn apply_as<'a>(
        &'a self,
        distribution: &Distribution,
        ops: &'a [Op<'a>],
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        match distribution {
            Distribution::Strict => self.store.apply(ops, None, out),
            Distribution::WriteBehind(settings) => self.write_behind.apply(settings, ops, out),
            Distribution::Prefetch(settings) => self.prefetch.apply(settings, ops, out),
        }
    }

    fn distributions(&self, ops: &[Op<'_>]) -> Vec<Distribution> {
        ops.iter().map(|op| self.policies.distribution(op.policy)).collect()
    }

    /// Applies operations on policies with different distributions: those with the same one together, and all
    /// beside each other, so that they take no longer than one call may.
    async fn apply_mixed(&self, ops: &[Op<'_>], out: &mut [Result<Decision, StoreError>]) {
        let each = self.distributions(ops);
        let indexes = |distribution: Distribution| {
            let is_same = move |(index, other): (usize, &Distribution)| {
                (*other == distribution).then_some(index)
            };
            each.iter().enumerate().filter_map(is_same)
        };
        let is_first = |(first, distribution): &(usize, &Distribution)| {
            !each.iter().take(*first).any(|earlier| earlier == *distribution)
        };
        let distinct = each.iter().enumerate().filter(is_first);
        let groups = distinct.map(async |(_, distribution)| {
            let some = subset::pick(ops, indexes(*distribution));
            let mut results = subset::unanswered(&some);
            if let Apply::Pending(pending) = self.apply_as(distribution, &some, &mut results) {
                pending.await;
            }
            (*distribution, results)
        });
        for (distribution, results) in join_all(groups).await {
            subset::put_back(indexes(distribution), results, out);
        }
    }
}

impl<S: RepeatsDenials + 'static> Store for Distribute<S> {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        let Some((first, others)) = ops.split_first() else { return Apply::Ready };
        // What a node knows is by its clock.
        if at.is_some() {
            return self.store.apply(ops, at, out);
        }
        let distribution = self.policies.distribution(first.policy);
        if others.iter().all(|op| self.policies.distribution(op.policy) == distribution) {
            return self.apply_as(&distribution, ops, out);
        }
        Apply::Pending(Box::pin(self.apply_mixed(ops, out)))
    }
}
