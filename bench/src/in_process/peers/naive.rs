//! The simplest implementation: a token bucket for each key in a locked map.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use crate::in_process::limit::Limit;
use crate::in_process::system::System;

pub(crate) struct Map {
    buckets: Mutex<HashMap<String, (f64, Instant)>>,
    per_second: f64,
    burst: f64,
}

impl Map {
    pub(crate) fn new(limit: &Limit) -> Map {
        let per_second = f64::from(limit.count) / limit.period.as_secs_f64();
        Map { buckets: Mutex::default(), per_second, burst: f64::from(limit.burst) }
    }
}

impl System for Map {
    fn check(&self, key: &String) -> bool {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().expect("no thread panics with the lock");
        let Some((tokens, since)) = buckets.get_mut(key) else {
            buckets.insert(key.clone(), (self.burst - 1.0, now));
            return true;
        };
        let refilled = now.saturating_duration_since(*since).as_secs_f64() * self.per_second;
        *tokens = (*tokens + refilled).min(self.burst);
        *since = now;
        let allowed = *tokens >= 1.0;
        if allowed {
            *tokens -= 1.0;
        }
        allowed
    }
}
