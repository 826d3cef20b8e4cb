//! A trace: limit lines, then steps.

use std::sync::Arc;

use serde_json::Value;
use tollgate::{Clock, MemoryStore};
use tollgate_core::{Limit, PlainStore, Span};
use tollgate_sim::{Lines, Simulator, Step};

/// Maximum number of limits.
const MAX_LIMITS: usize = 4;
/// Limits of an input without limits.
const LIMITS: [&str; 4] = [
    "gcra 1/s burst 5",
    "gcra 90000/min of tokens",
    "sliding-counters 10/min per ip",
    "concurrency 2 ttl 1s",
];

pub(crate) fn check(bytes: &[u8]) {
    let lines = lines(bytes);
    let first = lines.iter().take_while(|line| !line.starts_with('{'));
    let mut limits: Vec<Limit> =
        first.filter_map(|line| line.parse().ok()).take(MAX_LIMITS).collect();
    if limits.is_empty() {
        limits = LIMITS.iter().filter_map(|line| line.parse().ok()).collect();
    }
    let (memory, plain) = (memory_store(), PlainStore::default());
    let mut simulators = [
        Simulator::with_store(
            limits.clone(),
            Box::new(move |op, at| memory.apply_one(op, Some(at))),
        ),
        Simulator::with_store(limits, Box::new(move |op, at| plain.apply_one(op, at))),
    ];
    for step in lines.iter().filter_map(|line| Step::parse(line).ok()) {
        let [memory, plain] = simulators.each_mut().map(|simulator| decide(simulator, &step));
        assert_eq!(memory, plain, "the plain store decides differently");
        if let Ok(json) = memory {
            assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
        }
    }
}

/// The store of a simulator, but for fewer keys: a large table takes long to allocate.
fn memory_store() -> Arc<MemoryStore> {
    let store = MemoryStore::builder().max_keys(10_000).slack(Span::from_micros(u64::MAX));
    store.clock(Clock::manual()).build().unwrap_or_default()
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let mut lines = Lines::new(bytes);
    let mut all = Vec::new();
    while let Ok(Some(line)) = lines.next_line() {
        all.push(line.text.to_owned());
    }
    all
}

/// Returns the decision in JSON, or the error message.
fn decide(simulator: &mut Simulator, step: &Step<'_>) -> Result<String, String> {
    let decided = simulator.decide(step).map_err(|error| error.to_string())?;
    Ok(decided.to_json())
}
