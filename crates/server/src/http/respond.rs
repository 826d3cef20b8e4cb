//! Writes decisions as responses.

use tollgate::Enforce;
use tollgate_core::Decision;
use tollgate_http::json::push_decision;
use tollgate_http::{Problem, RateLimitHeaders};

use super::call::{Format, Operations};
use super::pages;
use super::rejection::Rejection;
use super::request::JSON;
use super::response::Response;
use super::service::Service;
use crate::engine::operation::Operation;
use crate::engine::{Answer, Engine};

/// Writes the response to a request, taking the answers to its operations.
pub(super) fn respond(
    service: &Service,
    format: Format,
    operations: &Operations<'_>,
    mut answers: impl Iterator<Item = Answer>,
    response: &mut Response,
) {
    if let Format::Batch = format {
        return batch(operations, answers, response);
    }
    let first = operations.first();
    let answer = first.and_then(|_| answers.next());
    match (format, first.zip(answer.as_ref())) {
        (Format::Page(page), _) => pages::write(page, service, answer.as_ref(), response),
        (_, Some((_, Err(error)))) => Rejection::from(error).write_to(response),
        (Format::Proxy { deny_status }, Some((operation, Ok(decision)))) => {
            proxy(operation, decision, deny_status, &service.engine, response);
        }
        (_, Some((operation, Ok(decision)))) => {
            one(operation, decision, &service.engine, response);
        }
        (_, None) => {}
    }
}

fn batch(
    operations: &Operations<'_>,
    mut answers: impl Iterator<Item = Answer>,
    response: &mut Response,
) {
    response.begin(200, JSON);
    let json = &mut response.body;
    json.push_str("{\"results\":[");
    for (index, operation) in operations.iter().enumerate() {
        json.push_str(if index > 0 { "," } else { "" });
        match answers.next() {
            Some(Ok(decision)) => push_result(json, operation, &decision),
            Some(Err(error)) => Rejection::from(&error).write_body(json),
            None => {}
        }
    }
    json.push_str("]}");
}

/// One decision in JSON. A denial also has the rate limit headers.
fn one(operation: &Operation<'_>, decision: &Decision, engine: &Engine, response: &mut Response) {
    response.begin(if decision.allowed { 200 } else { 429 }, JSON);
    if !decision.allowed {
        add_headers(operation, decision, engine, response);
    }
    push_result(&mut response.body, operation, decision);
}

/// One decision for a proxy, which passes the headers on to its client.
fn proxy(
    operation: &Operation<'_>,
    decision: &Decision,
    deny_status: u16,
    engine: &Engine,
    response: &mut Response,
) {
    response.begin(if decision.allowed { 200 } else { deny_status }, Problem::CONTENT_TYPE);
    add_headers(operation, decision, engine, response);
    let Some(policy) = operation.policy() else { return };
    if !decision.allowed && policy.enforce() != Enforce::Silent {
        let policy = operation.policy_as_asked(policy);
        let limit = RateLimitHeaders::new(&policy, decision, engine.now()).limit_name();
        let problem = Problem::quota_exceeded(limit.as_deref().unwrap_or_default());
        problem.with_status(deny_status).write_to(&mut response.body);
    }
}

fn add_headers(
    operation: &Operation<'_>,
    decision: &Decision,
    engine: &Engine,
    response: &mut Response,
) {
    response.field("cache-control", "no-store");
    let Some(policy) = operation.policy() else { return };
    // A client that is denied silently must not learn that there is a limit.
    if policy.enforce() == Enforce::Silent {
        return;
    }
    let as_asked = operation.policy_as_asked(policy);
    let mut headers = RateLimitHeaders::new(&as_asked, decision, engine.now());
    if let Some(key) = operation.key() {
        headers = headers.key(key);
    }
    headers.fields(policy.dialect(), |name, value| response.field(name, value));
}

fn push_result(json: &mut String, operation: &Operation<'_>, decision: &Decision) {
    json.push('{');
    push_decision(json, decision);
    if let Some(policy) = operation.policy() {
        json.push_str(",\"policy\":\"");
        // A name has no character that must be escaped.
        json.push_str(policy.name().as_str());
        json.push_str("\",\"bound_by\":");
        json.push_str(&operation.line(decision.bound_by));
    }
    json.push('}');
}
