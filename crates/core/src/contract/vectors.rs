//! Answers that other systems' tests, documents or running code give.

use serde_json::Value;

use super::generate::Step;
use super::{Suite, sure};
use crate::{Act, Decision, Limit, Span, Time};

const TRACES: &str = include_str!("vectors/traces.jsonl");

impl Suite<'_> {
    /// Every trace of `vectors/traces.jsonl`; waits may differ by one tick.
    pub fn known_answers(&self) {
        for line in TRACES.lines() {
            let case: Value = serde_json::from_str(line).unwrap_or_default();
            let wrong = self.replay(&case);
            assert!(wrong.is_none(), "{}: {}", case["id"], wrong.unwrap_or_default());
        }
    }

    /// What is wrong with the answers to one trace.
    fn replay(&self, case: &Value) -> Option<String> {
        let lines = case["limits"].as_array()?.iter().filter_map(Value::as_str);
        let limits: Result<Vec<Limit>, _> = lines.map(str::parse).collect();
        let limits = limits.map_err(|error| error.to_string());
        let limits = match limits {
            Ok(limits) => limits,
            Err(error) => return Some(error),
        };
        let key = self.key();
        for step in case["steps"].as_array()? {
            let act = Act::named(step["op"].as_str()?)?;
            let at = Time::from_micros(micros(&step["t_ms"])?)?;
            let answer = sure(key.ask(&limits, &Step::new(act, step["cost"].as_u64()?), at));
            let wrong = match answer {
                Ok(decision) => differs(&decision, &step["expect"]),
                Err(error) => Some(error.to_string()),
            };
            if let Some(wrong) = wrong {
                return Some(format!("{step}: {wrong}"));
            }
        }
        None
    }
}

/// Milliseconds as written, in ticks.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the vectors hold whole microseconds that are not negative"
)]
fn micros(ms: &Value) -> Option<u64> {
    ms.as_f64().map(|ms| (ms * 1000.0).round() as u64)
}

fn differs(decision: &Decision, expect: &Value) -> Option<String> {
    let near = |got: Option<Span>, field: &str| {
        let got = got.map(Span::as_micros);
        let Some(want) = expect.get(field).map(micros) else { return true };
        got == want || got.zip(want).is_some_and(|(got, want)| got.abs_diff(want) <= 1)
    };
    let count = |got: Option<u64>, field: &str| expect.get(field).is_none_or(|v| v.as_u64() == got);
    let allowed = expect["allowed"].as_bool().unwrap_or(decision.allowed);
    let right = allowed == decision.allowed
        && count(decision.limit, "limit")
        && count(decision.remaining, "remaining")
        && near(decision.retry_after, "retry_after_ms")
        && near(Some(decision.reset_after), "reset_after_ms");
    (!right).then(|| format!("answered {decision:?}"))
}
