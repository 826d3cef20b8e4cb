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
    #[must_use]
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
        let Step { at, act, cost, key, keys, .. } = self.step;
        json.push_str("{\"t_ms\":");
        Millis::from(*at).push_to(json);
        if keys.is_empty() {
            json.push_str(",\"key\":");
            push_string(json, key);
        } else {
            write_keys(json, keys);
        }
        json.push_str(",\"cost\":");
        json.push_str(itoa::Buffer::new().format(*cost));
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

fn write_keys(json: &mut String, keys: &[(Cow<'_, str>, Cow<'_, str>)]) {
    json.push_str(",\"keys\":{");
    for (index, (name, key)) in keys.iter().enumerate() {
        json.push_str(if index > 0 { "," } else { "" });
        push_string(json, name);
        json.push(':');
        push_string(json, key);
    }
    json.push('}');
}
