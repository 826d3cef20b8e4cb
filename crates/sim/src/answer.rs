//! The answer to one step, as programs read it.

use std::borrow::Cow;

use tollgate_core::{Decision, Limit};

use crate::millis::Millis;
use crate::trace::Step;

/// A step with what was decided.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'s> {
    pub(crate) step: &'s Step<'s>,
    pub(crate) decision: Decision,
    /// None only where there is no limit at all.
    pub(crate) bound_by: Option<&'s Printed>,
}

/// A limit as it is printed, for people and, with its quotes, for programs.
#[derive(Debug, Clone)]
pub(crate) struct Printed {
    pub(crate) line: String,
    json: String,
}

impl Printed {
    pub(crate) fn new(limit: &Limit) -> Printed {
        let (line, mut json) = (limit.to_string(), String::new());
        push_text(&mut json, &line);
        Printed { line, json }
    }
}

impl Answer<'_> {
    /// The decision.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// One JSON object, without the end of the line.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(256);
        self.write_json(&mut json);
        json
    }

    /// Appends the JSON object to a text.
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
            push_text(json, key);
        } else {
            write_keys(json, keys);
        }
        json.push_str(",\"cost\":");
        push_number(json, Some(*cost));
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

/// Appends the members of a JSON object that say what was decided, from `allowed` to `reset_after_ms`:
/// the same for whoever is told.
pub fn push_decision(json: &mut String, decision: &Decision) {
    let Decision { allowed, limit, remaining, retry_after, reset_after, .. } = *decision;
    json.push_str(if allowed { "\"allowed\":true" } else { "\"allowed\":false" });
    json.push_str(",\"limit\":");
    push_number(json, limit);
    json.push_str(",\"remaining\":");
    push_number(json, remaining);
    json.push_str(",\"retry_after_ms\":");
    match retry_after {
        Some(wait) => Millis::from(wait).push_to(json),
        None => json.push_str("null"),
    }
    json.push_str(",\"reset_after_ms\":");
    Millis::from(reset_after).push_to(json);
}

fn write_keys(json: &mut String, keys: &[(Cow<'_, str>, Cow<'_, str>)]) {
    json.push_str(",\"keys\":{");
    for (place, (kind, key)) in keys.iter().enumerate() {
        json.push_str(if place > 0 { "," } else { "" });
        push_text(json, kind);
        json.push(':');
        push_text(json, key);
    }
    json.push('}');
}

fn push_number(json: &mut String, number: Option<u64>) {
    match number {
        Some(number) => json.push_str(itoa::Buffer::new().format(number)),
        None => json.push_str("null"),
    }
}

/// A text with its quotes. Most have nothing to escape and are copied as they are.
fn push_text(json: &mut String, text: &str) {
    let plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        json.push('"');
        json.push_str(text);
        json.push('"');
    } else {
        json.push_str(&serde_json::Value::from(text).to_string());
    }
}
