//! `tollgate check`: sends a check to a running server.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value, json};
use ureq::Agent;
use ureq::http::StatusCode;

use crate::args::Check;
use crate::cost::Cost;
use crate::outcome::Outcome;

/// How long to wait for the response.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &Check) -> anyhow::Result<Outcome> {
    let act = if args.peek { "peek" } else { "check" };
    let url = format!("{}/v1/{act}", args.server.trim_end_matches('/'));
    let (status, text) = post(&url, &request_body(args)?)?;
    let response: Value = serde_json::from_str(&text).unwrap_or_default();
    let Some(allowed) = response.get("allowed").and_then(Value::as_bool) else {
        let detail = response.get("detail").and_then(Value::as_str).unwrap_or(text.trim());
        bail!("{url} returned {status}: {detail}");
    };
    let mut out = anstream::stdout();
    match args.json {
        true => writeln!(out, "{text}")?,
        false => writeln!(out, "{}", summary(allowed, &response))?,
    }
    Ok(if allowed { Outcome::Positive } else { Outcome::Negative })
}

fn post(url: &str, body: &Value) -> anyhow::Result<(StatusCode, String)> {
    let agent: Agent = Agent::config_builder()
        // A denial (429) is a valid response.
        .http_status_as_error(false)
        .timeout_global(Some(TIMEOUT))
        .build()
        .into();
    let request = agent.post(url).content_type("application/json");
    let mut response = request.send(body.to_string()).with_context(|| {
        format!("cannot reach {url}; is the server running? Start it with: tollgate serve")
    })?;
    let text = response.body_mut().read_to_string();
    Ok((response.status(), text.with_context(|| format!("cannot read the response of {url}"))?))
}

/// Builds the body. `ip=203.0.113.9` is the key of the subject `ip`; a key without `=` is nameless.
fn request_body(args: &Check) -> anyhow::Result<Value> {
    let mut body = json!({ "policy": args.policy });
    add_costs(&mut body, &args.costs)?;
    let (named_keys, bare): (Vec<_>, Vec<_>) = args.keys.iter().partition(|key| key.contains('='));
    let mut named = Map::new();
    for (name, key) in named_keys.into_iter().filter_map(|key| key.split_once('=')) {
        let before = named.insert(name.to_owned(), Value::from(key));
        ensure!(before.is_none(), "{name}={key}: the key {name} is given twice");
    }
    for key in bare.into_iter().chain(&args.key) {
        ensure!(
            body["key"].is_null(),
            "{key}: the key without a name is given twice; several keys need names, such as ip={key}"
        );
        body["key"] = Value::from(key.as_str());
    }
    if !named.is_empty() {
        body["keys"] = Value::from(named);
    }
    Ok(body)
}

fn add_costs(body: &mut Value, costs: &[Cost]) -> anyhow::Result<()> {
    for cost in costs {
        let member = match &cost.unit {
            Some(unit) => &mut body["costs"][unit],
            None => &mut body["cost"],
        };
        ensure!(member.is_null(), "{cost}: the cost is given twice");
        *member = Value::from(cost.amount);
    }
    Ok(())
}

/// Returns the decision in one line.
fn summary(allowed: bool, response: &Value) -> String {
    let number = |name: &str, none: &str| match response.get(name) {
        Some(Value::Null) | None => none.to_owned(),
        Some(number) => number.to_string(),
    };
    let style = if allowed { crate::args::ALLOWED } else { crate::args::ERROR };
    let word = if allowed { "allowed" } else { "denied" };
    let remaining = format!("{} of {} remaining", number("remaining", "∞"), number("limit", "∞"));
    let wait = match (allowed, number("retry_after_ms", "never").as_str()) {
        (true, _) => String::new(),
        (false, "never") => ", the cost can never fit".to_owned(),
        (false, wait) => format!(", retry after {wait} ms"),
    };
    let text = |name: &str| response.get(name).and_then(Value::as_str);
    let limit = text("bound_by").unwrap_or("no limit");
    let degraded = match (response.get("degraded"), text("source")) {
        (Some(Value::Bool(true)), Some(source)) => {
            format!(", degraded: the store is unavailable, decided by {source}")
        }
        _ => String::new(),
    };
    format!("{style}{word}{style:#}: {remaining}{wait} ({limit}){degraded}")
}
