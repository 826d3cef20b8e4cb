//! A trace: limit lines first, then steps.

use std::sync::Arc;

use serde_json::Value;
use tollgate::{Clock, MemoryStore};
use tollgate_core::{Limit, PlainStore, Span};
use tollgate_sim::{Lines, Simulator, Step};

/// How many limits are taken from the text.
const MOST_LIMITS: usize = 4;
/// The limits of a text that has none.
const LIMITS: [&str; 3] =
    ["gcra 1/s burst 5", "sliding-counters 10/min per ip", "concurrency 2 ttl 1s"];

pub(crate) fn check(bytes: &[u8]) {
    let lines = lines(bytes);
    let first = lines.iter().take_while(|line| !line.starts_with('{'));
    let mut limits: Vec<Limit> =
        first.filter_map(|line| line.parse().ok()).take(MOST_LIMITS).collect();
    if limits.is_empty() {
        limits = LIMITS.iter().filter_map(|line| line.parse().ok()).collect();
    }
    let (memory, plain) = (memory(), PlainStore::default());
    let mut simulators = [
        Simulator::with_store(
            limits.clone(),
            Box::new(move |op, at| memory.apply_one(op, Some(at))),
        ),
        Simulator::with_store(limits, Box::new(move |op, at| plain.apply_one(op, at))),
    ];
    for step in lines.iter().filter_map(|line| Step::parse(line).ok()) {
        let [answer, plain] = simulators.each_mut().map(|simulator| answer(simulator, &step));
        assert_eq!(answer, plain, "the plainest store says otherwise");
        if let Ok(json) = answer {
            assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
        }
    }
}

/// Like that of a simulator, but with room for fewer keys: it takes long to make much room.
fn memory() -> Arc<MemoryStore> {
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

/// What is said to a step, in JSON, or what is wrong with it.
fn answer(simulator: &mut Simulator, step: &Step<'_>) -> Result<String, String> {
    let answer = simulator.decide(step).map_err(|error| error.to_string())?;
    Ok(answer.to_json())
}
