//! Writes decisions as responses.

use tollgate_core::{Decision, LimitStatus, LimitStatuses};
use tollgate_http::json::{push_decision, push_status};
use tollgate_http::{Problem, RateLimitHeaders};

use super::call::{Call, Format, Operations};
use super::connection::Connection;
use super::pages;
use super::rejection::Rejection;
use super::response::{JSON, Response};
use crate::engine::operation::Operation;
use crate::engine::{Answer, Engine};

/// Tells the application behind a proxy that a request was denied silently.
const SILENCED: &str = "tollgate-silenced";

/// Writes the response to a request, taking the answers to its operations.
pub(super) fn respond(
    connection: &Connection,
    call: &Call<'_>,
    operations: &Operations<'_>,
    mut answers: impl Iterator<Item = Answer>,
    response: &mut Response,
) {
    if let Format::Batch = call.format {
        return batch(call, operations, answers, response);
    }
    let service = &connection.service;
    let first = operations.first();
    let answer = first.and_then(|_| answers.next());
    match (call.format, first.zip(answer.as_ref())) {
        (Format::Page(page), _) => pages::write(page, service, answer.as_ref(), response),
        (_, Some((_, Err(error)))) => Rejection::from(error).write_to(response),
        (Format::Proxy { deny_status }, Some((operation, Ok(decision)))) => {
            proxy(operation, decision, deny_status, &service.engine, response);
            if decision.would_deny && operation.is_silent() && connection.is_trusted {
                response.field(SILENCED, "1");
            }
        }
        (_, Some((operation, Ok(decision)))) => {
            let status = if decision.not_found { 409 } else { 429 };
            response.begin(if decision.allowed { 200 } else { status }, JSON);
            add_headers(operation, decision, &service.engine, response);
            push_result(&mut response.body, operation, decision, call.each(0));
        }
        (_, None) => {}
    }
}

fn batch(
    call: &Call<'_>,
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
            Some(Ok(decision)) => push_result(json, operation, &decision, call.each(index)),
            Some(Err(error)) => Rejection::from(&error).write_body(json),
            None => {}
        }
    }
    json.push_str("]}");
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
    let Some(as_asked) = operation.policy_as_asked() else { return };
    if !decision.allowed {
        let limit = RateLimitHeaders::new(&as_asked, decision, engine.now()).limit_name();
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
    response.no_store();
    let Some((policy, as_asked)) = operation.policy().zip(operation.policy_as_asked()) else {
        return;
    };
    // Where denials are not enforced, the client must not learn that there is a limit, neither before it is reached nor
    // after. Where there was nothing to act on, no limit was asked.
    if decision.not_found || !operation.is_enforced() {
        return;
    }
    let mut headers = RateLimitHeaders::new(&as_asked, decision, engine.now());
    if let Some(key) = operation.key() {
        headers = headers.key(key);
    }
    headers.fields(policy.dialect(), |name, value| response.field(name, value));
}

fn push_result(
    json: &mut String,
    operation: &Operation<'_>,
    decision: &Decision,
    each: Option<&LimitStatuses>,
) {
    json.push('{');
    push_decision(json, decision);
    if let Some(policy) = operation.policy() {
        json.push_str(",\"policy\":\"");
        // A name has no character that must be escaped.
        json.push_str(policy.name().as_str());
        json.push_str("\",\"bound_by\":");
        json.push_str(&operation.line(decision.bound_by));
        // Where denials are not enforced, the numbers of the limits would give them away.
        if let Some(each) = each.filter(|_| operation.is_enforced()) {
            push_limits(json, operation, &each.to_vec());
        }
    }
    json.push('}');
}

/// Writes the status of each limit, if the store reported it.
fn push_limits(json: &mut String, operation: &Operation<'_>, statuses: &[LimitStatus]) {
    for (position, status) in statuses.iter().enumerate() {
        json.push_str(if position == 0 { ",\"limits\":[{" } else { ",{" });
        push_status(json, status);
        json.push_str(",\"line\":");
        json.push_str(&operation.line(position));
        json.push('}');
    }
    json.push_str(if statuses.is_empty() { "" } else { "]" });
}
