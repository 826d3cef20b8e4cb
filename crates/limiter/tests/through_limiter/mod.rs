//! A store that asks another one through a limiter, for the tests that any store must pass.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tollgate::{
    AnyStore, Apply, Decision, Error, Limit, Limiter, Name, Op, Store, StoreError, Time,
};
use tollgate_core::{Act, Item};

/// The unit of the limit at each position: so every item of an operation can have its own cost.
const UNITS: [&str; 4] = ["first", "second", "third", "fourth"];

pub(crate) struct ThroughLimiter {
    store: Arc<AnyStore>,
    /// By their names.
    limiters: Mutex<HashMap<Name, Limiter<AnyStore>>>,
}

impl ThroughLimiter {
    pub(crate) fn new(store: &Arc<AnyStore>) -> ThroughLimiter {
        ThroughLimiter { store: Arc::clone(store), limiters: Mutex::default() }
    }

    /// Returns the limiter of the policy, with the limits of this operation.
    fn limiter(&self, op: &Op<'_>) -> Limiter<AnyStore> {
        let mut limiters = self.limiters.lock().unwrap();
        let limiter = limiters
            .entry(op.policy.clone())
            .or_insert_with(|| self.store.limiter(op.policy.as_str(), [] as [Limit; 0]).unwrap());
        limiter.with_limits(op.items.iter().zip(UNITS).map(limit).collect())
    }

    async fn apply_one(&self, op: &Op<'_>, at: Option<Time>) -> Result<Decision, Error> {
        let limiter = self.limiter(op);
        let mut keys: Vec<(&str, _)> = Vec::new();
        for item in op.items {
            let name = item.subject.name.map_or("", Name::as_str);
            if !keys.contains(&(name, item.subject.key)) {
                keys.push((name, item.subject.key));
            }
        }
        let mut request = limiter.keys(&keys);
        for (item, unit) in op.items.iter().zip(UNITS) {
            request = request.cost_of(unit, item.cost);
        }
        request = op.id.map_or(request.clone(), |id| request.id(id.as_bytes()));
        request = op.statuses.map_or(request.clone(), |each| request.statuses(each));
        request = at.map_or(request.clone(), |at| request.at(at));
        match op.act {
            Act::Check => request.check().await,
            Act::Peek => request.peek().await,
            Act::Refund => request.refund().await.map(|allowed| *allowed),
            Act::Charge => request.charge().await.map(|allowed| *allowed),
            Act::Reset => request.reset().await.map(|allowed| *allowed),
            Act::Reserve => request.reserve().await,
            Act::Settle => request.settle().await,
            Act::Release => request.release().await,
            _ => request.renew().await,
        }
    }
}

fn limit((item, unit): (&Item<'_>, &str)) -> Limit {
    let limit = item.limit.clone().with_unit(unit).unwrap();
    item.subject.name.map_or(limit.clone(), |name| limit.with_per(name.as_str()).unwrap())
}

impl Store for ThroughLimiter {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        Apply::Pending(Box::pin(async move {
            for (op, out) in ops.iter().zip(out) {
                *out = self.apply_one(op, at).await.map_err(|error| match error.is_overdrawn() {
                    true => StoreError::overdrawn(),
                    false => StoreError::unavailable(error),
                });
            }
        }))
    }
}
