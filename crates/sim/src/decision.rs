//! A step of a trace and its decision, as JSON.

use std::borrow::Cow;

use tollgate_core::{Decision, Limit};
use tollgate_http::json::{Millis, push_decision, push_string};

use crate::step::Step;

/// A step of a trace with its decision.
///
/// [`to_json`](StepDecision::to_json) returns it for programs; `Display` prints a row of a table.
#[derive(Debug, Clone, Copy)]
pub struct StepDecision<'s> {
    pub(crate) step: &'s Step<'s>,
    pub(crate) decision: Decision,
    /// The limit that binds. `None` only if the policy has no limits.
    pub(crate) bound_by: Option<&'s LimitText>,
    /// Width of the column of costs in a table.
    pub(crate) cost_width: usize,
}

/// A limit as text and as a JSON string, formatted once for all steps.
#[derive(Debug, Clone)]
pub(crate) struct LimitText {
    pub(crate) line: String,
    json: String,
}

impl LimitText {
    pub(crate) fn new(limit: &Limit) -> LimitText {
        let (line, mut json) = (limit.to_string(), String::new());
        push_string(&mut json, &line);
        LimitText { line, json }
    }
}

impl StepDecision<'_> {
    /// Returns the decision.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns one JSON object, without a line break.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(256);
        self.write_json(&mut json);
        json
    }

    /// Appends the JSON object to `json`.
    pub fn write_json(&self, json: &mut String) {
        self.write_step(json);
        self.write_decision(json);
    }

    fn write_step(&self, json: &mut String) {
        let Step { at, act, cost, costs, key, keys, .. } = self.step;
        json.push_str("{\"t_ms\":");
        Millis::from(*at).push_to(json);
        if keys.is_empty() {
            json.push_str(",\"key\":");
            push_string(json, key);
        } else {
            json.push_str(",\"keys\":");
            write_object(json, keys, |json, key| push_string(json, key));
        }
        json.push_str(",\"cost\":");
        write_number(json, *cost);
        if !costs.is_empty() {
            json.push_str(",\"costs\":");
            write_object(json, costs, |json, cost| write_number(json, *cost));
        }
        json.push_str(",\"op\":\"");
        json.push_str(act.name());
        json.push('"');
    }

    fn write_decision(&self, json: &mut String) {
        json.push(',');
        push_decision(json, &self.decision);
        json.push_str(",\"bound_by\":");
        json.push_str(self.bound_by.map_or("null", |limit| &limit.json));
        json.push('}');
    }
}

fn write_number(json: &mut String, number: u64) {
    json.push_str(itoa::Buffer::new().format(number));
}

fn write_object<V>(
    json: &mut String,
    pairs: &[(Cow<'_, str>, V)],
    write_value: impl Fn(&mut String, &V),
) {
    json.push('{');
    for (index, (name, value)) in pairs.iter().enumerate() {
        json.push_str(if index > 0 { "," } else { "" });
        push_string(json, name);
        json.push(':');
        write_value(json, value);
    }
    json.push('}');
}
