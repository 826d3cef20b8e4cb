//! Pages: liveness, readiness, metrics, policies, and the OpenAPI description.

use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use serde::Serialize;
use tollgate_core::{Act, Key, Limit, Name};

use super::openapi::OPENAPI;
use super::rejection::Rejection;
use super::request::JSON;
use super::response::Response;
use super::routes::Page;
use super::service::Service;
use crate::engine::Answer;
use crate::engine::active_policy::ActivePolicy;
use crate::engine::operation::Operation;
use crate::engine::policies::Policies;
use crate::metrics;

const TEXT: &str = "text/plain; charset=utf-8";

/// The policy of the readiness probe. Nothing is ever counted under it.
static PROBE: LazyLock<Name> = LazyLock::new(|| Name::new("readyz").unwrap_or_default());

impl Page {
    /// Returns the operation that the page needs: readiness peeks, which changes nothing and fails if the
    /// store does.
    pub(super) fn operation<'a>(self) -> Option<Operation<'a>> {
        if self != Page::Ready {
            return None;
        }
        let limit: Limit = "gcra 1/s".parse().ok()?;
        let key = Key::new(b"readyz").ok()?;
        Some(Operation::inline(&PROBE, Rc::new(limit), key, Act::Peek, 1))
    }
}

pub(super) fn write(
    page: Page,
    service: &Service,
    probe: Option<&Answer>,
    response: &mut Response,
) {
    match page {
        Page::Alive => write_text(response, "ok\n"),
        Page::Ready => match probe {
            Some(Err(error)) => Rejection::from(error).write_to(response),
            _ if service.worker.is_stopping() => Rejection::stopping().write_to(response),
            _ => write_text(response, "ready\n"),
        },
        Page::Metrics => {
            response.begin(200, metrics::CONTENT_TYPE);
            let (engine, connections) = (Arc::clone(&service.engine), service.connections.clone());
            metrics::Exposition { engine, connections }.write_to(&mut response.body);
        }
        Page::Policies => {
            response.begin(200, JSON);
            response.body.push_str(&policies_json(&service.engine.policies()));
        }
        Page::OpenApi => {
            response.begin(200, JSON);
            response.body.push_str(OPENAPI);
        }
    }
    response.field("cache-control", "no-store");
}

fn write_text(response: &mut Response, text: &str) {
    response.begin(200, TEXT);
    response.body.push_str(text);
}

/// A policy in the list of policies. Overrides are only counted, since their keys identify people.
#[derive(Serialize)]
struct ListedPolicy<'a> {
    name: &'a str,
    limits: Vec<String>,
    candidate: Vec<String>,
    enforce: String,
    headers: &'a str,
    overrides: usize,
}

impl<'a> ListedPolicy<'a> {
    fn new(policy: &'a ActivePolicy) -> ListedPolicy<'a> {
        let lines = |limits: &[Limit]| limits.iter().map(ToString::to_string).collect();
        ListedPolicy {
            name: policy.name().as_str(),
            limits: lines(policy.policy().limits()),
            candidate: lines(policy.candidate().map_or(&[], |policy| policy.limits())),
            enforce: policy.enforce().to_string(),
            headers: policy.dialect().name(),
            overrides: policy.overrides(),
        }
    }
}

fn policies_json(policies: &Policies) -> String {
    #[derive(Serialize)]
    struct List<'a> {
        policies: Vec<ListedPolicy<'a>>,
    }
    let list = List { policies: policies.iter().map(ListedPolicy::new).collect() };
    // Serializing strings and numbers cannot fail.
    serde_json::to_string(&list).unwrap_or_default()
}
