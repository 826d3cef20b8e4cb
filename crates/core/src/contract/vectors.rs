//! Traces with the answers that other systems' tests, documents or running code give.

use serde_json::Value;

use super::Suite;
use super::generate::Step;
use crate::{Act, Decision, Limit, Span, Time};

const TRACES: &str = include_str!("vectors/traces.jsonl");

impl Suite<'_> {
    /// Tests every trace of `vectors/traces.jsonl`; waits may differ by one tick.
    pub fn known_answers(&self) {
        for line in TRACES.lines() {
            let case: Value = serde_json::from_str(line).expect("a line of JSON");
            if let Err(error) = self.replay(&case) {
                panic!("{}: {error}", case["id"]);
            }
        }
    }

    fn replay(&self, case: &Value) -> Result<(), String> {
        let lines = case["limits"].as_array().ok_or("no limits")?.iter();
        let limits = lines.map(|line| line.as_str().unwrap_or_default().parse::<Limit>());
        let limits = limits.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let key = self.new_key();
        for step in case["steps"].as_array().ok_or("no steps")? {
            let act = step["op"].as_str().and_then(Act::from_name).ok_or("no op")?;
            let at = micros(&step["t_ms"]).and_then(Time::from_micros).ok_or("no t_ms")?;
            let cost = step["cost"].as_u64().ok_or("no cost")?;
            let result = key.apply(&limits, &Step::new(act, cost), at);
            let decision = result.map_err(|error| error.to_string())?.decision;
            if !matches(&decision, &step["expect"]) {
                return Err(format!("{step}: got {decision:?}"));
            }
        }
        Ok(())
    }
}

/// Converts milliseconds to ticks.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the vectors hold whole microseconds that are not negative"
)]
fn micros(ms: &Value) -> Option<u64> {
    ms.as_f64().map(|ms| (ms * 1000.0).round() as u64)
}

fn matches(decision: &Decision, expect: &Value) -> bool {
    let near = |got: Option<Span>, field: &str| {
        let got = got.map(Span::as_micros);
        let Some(want) = expect.get(field).map(micros) else { return true };
        got == want || got.zip(want).is_some_and(|(got, want)| got.abs_diff(want) <= 1)
    };
    let count = |got: Option<u64>, field: &str| expect.get(field).is_none_or(|v| v.as_u64() == got);
    let allowed = expect["allowed"].as_bool().unwrap_or(decision.allowed);
    allowed == decision.allowed
        && count(decision.limit, "limit")
        && count(decision.remaining, "remaining")
        && near(decision.retry_after, "retry_after_ms")
        && near(Some(decision.reset_after), "reset_after_ms")
}
