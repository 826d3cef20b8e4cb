//! limitador: a fixed window in a cache, the key through a variable of the request's context.

use std::collections::HashMap;

use limitador::RateLimiter;
use limitador::limit::{Context, Limit as Window, Namespace};

use crate::in_process::limit::Limit;
use crate::in_process::system::System;

pub(crate) struct InMemory {
    limiter: RateLimiter,
    namespace: Namespace,
}

/// Enough counters that none is evicted; they are allocated on demand.
const COUNTERS: u64 = 20_000_000;

impl InMemory {
    /// A window has no burst: it allows what is refilled in its length, and at least the burst.
    pub(crate) fn new(limit: &Limit) -> anyhow::Result<InMemory> {
        let max = limit.count.max(limit.burst);
        let seconds = (limit.interval() * max).as_secs();
        let user = "user".try_into()?;
        let limiter = RateLimiter::new(COUNTERS);
        limiter.add_limit(Window::new("bench", u64::from(max), seconds, vec![], vec![user]));
        Ok(InMemory { limiter, namespace: "bench".into() })
    }
}

impl System for InMemory {
    /// The context is built for each request; it owns its names and values.
    fn check(&self, key: &String) -> bool {
        let values = HashMap::from([("user".to_owned(), key.clone())]);
        let context = Context::from(values);
        let checked = self.limiter.check_rate_limited_and_update(&self.namespace, &context, 1);
        !checked.expect("memory does not fail").limited
    }
}
