//! `tollgate check`: asks a running server.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value, json};
use ureq::Agent;
use ureq::http::StatusCode;

use crate::Answer;
use crate::args::Check;

/// How long the server may take.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &Check) -> anyhow::Result<Answer> {
    let act = if args.peek { "peek" } else { "check" };
    let url = format!("{}/v1/{act}", args.server.trim_end_matches('/'));
    let (status, text) = ask(&url, &question(args)?)?;
    let answer: Value = serde_json::from_str(&text).unwrap_or_default();
    let Some(allowed) = answer.get("allowed").and_then(Value::as_bool) else {
        let detail = answer.get("detail").and_then(Value::as_str).unwrap_or(text.trim());
        bail!("{url} answered {status}: {detail}");
    };
    let mut out = anstream::stdout();
    match args.json {
        true => writeln!(out, "{text}")?,
        false => writeln!(out, "{}", said(allowed, &answer))?,
    }
    Ok(if allowed { Answer::Yes } else { Answer::No })
}

fn ask(url: &str, question: &Value) -> anyhow::Result<(StatusCode, String)> {
    let agent: Agent = Agent::config_builder()
        // A denial is an answer.
        .http_status_as_error(false)
        .timeout_global(Some(TIMEOUT))
        .build()
        .into();
    let request = agent.post(url).content_type("application/json");
    let mut response = request.send(question.to_string()).with_context(|| {
        format!("cannot ask {url}; is there a server? Start one: tollgate serve")
    })?;
    let text = response.body_mut().read_to_string();
    Ok((response.status(), text.with_context(|| format!("{url} did not finish its answer"))?))
}

/// `ip=203.0.113.9` says whose key it is; any other is the nameless one.
fn question(args: &Check) -> anyhow::Result<Value> {
    let mut question = json!({ "policy": args.policy, "cost": args.cost });
    let (named_keys, bare): (Vec<_>, Vec<_>) = args.keys.iter().partition(|key| key.contains('='));
    let mut named = Map::new();
    for (kind, key) in named_keys.into_iter().filter_map(|key| key.split_once('=')) {
        let before = named.insert(kind.to_owned(), Value::from(key));
        ensure!(before.is_none(), "{kind}={key}: this kind of key is given twice");
    }
    for key in bare.into_iter().chain(&args.key) {
        ensure!(question["key"].is_null(), "{key}: this kind of key is given twice");
        question["key"] = Value::from(key.as_str());
    }
    if !named.is_empty() {
        question["keys"] = Value::from(named);
    }
    Ok(question)
}

/// The answer in one line.
fn said(allowed: bool, answer: &Value) -> String {
    let number = |name: &str, none: &str| match answer.get(name) {
        Some(Value::Null) | None => none.to_owned(),
        Some(number) => number.to_string(),
    };
    let style = if allowed { crate::args::ALLOWED } else { crate::args::ERROR };
    let word = if allowed { "allowed" } else { "denied" };
    let left = format!("{} of {} left", number("remaining", "∞"), number("limit", "∞"));
    let wait = match (allowed, number("retry_after_ms", "never").as_str()) {
        (true, _) => String::new(),
        (false, "never") => ", never fits".to_owned(),
        (false, wait) => format!(", again in {wait} ms"),
    };
    let limit = answer.get("bound_by").and_then(Value::as_str).unwrap_or("no limit");
    format!("{style}{word}{style:#}: {left}{wait} ({limit})")
}
