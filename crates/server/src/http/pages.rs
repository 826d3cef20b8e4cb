//! What can be looked at: whether it works, what it counts, which policies there are.

use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use serde::Serialize;
use tollgate_core::{Act, Key, Limit, Name};

use super::JSON;
use super::openapi::OPENAPI;
use super::rejection::Rejection;
use super::response::Response;
use super::routes::Page;
use crate::engine::Answer;
use crate::engine::active_policy::ActivePolicy;
use crate::engine::operation::Operation;
use crate::engine::policies::Policies;
use crate::host::worker::Worker;
use crate::metrics::{self, Exposition};

const TEXT: &str = "text/plain; charset=utf-8";

/// Under this nothing is ever counted; the store is only asked whether it answers.
static NOBODY: LazyLock<Name> = LazyLock::new(|| Name::new("readyz").unwrap_or_default());

/// An operation that changes nothing, and fails if the store does.
pub(super) fn readiness<'a>() -> Option<Operation<'a>> {
    let limit: Limit = "gcra 1/s".parse().ok()?;
    let key = Key::new(b"readyz").ok()?;
    Some(Operation::inline(&NOBODY, Rc::new(limit), key, Act::Peek, 1))
}

pub(super) fn write(page: Page, worker: &Worker, store: Option<&Answer>, response: &mut Response) {
    match page {
        Page::Alive => say(response, "ok\n"),
        Page::Ready => match store {
            Some(Err(error)) => Rejection::from(error).write_to(response),
            _ if worker.is_stopping() => Rejection::stopping().write_to(response),
            _ => say(response, "ready\n"),
        },
        Page::Metrics => {
            response.begin(200, metrics::CONTENT_TYPE);
            Exposition(Arc::clone(worker.engine())).write_to(&mut response.body);
        }
        Page::Policies => {
            response.begin(200, JSON);
            response.body.push_str(&listed(&worker.engine().policies()));
        }
        Page::OpenApi => {
            response.begin(200, JSON);
            response.body.push_str(OPENAPI);
        }
    }
    response.field("cache-control", "no-store");
}

fn say(response: &mut Response, text: &str) {
    response.begin(200, TEXT);
    response.body.push_str(text);
}

/// A policy, for whoever wants to know which there are. Overrides are counted, not told: keys are
/// people.
#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    limits: Vec<String>,
    candidate: Vec<String>,
    enforce: String,
    headers: &'a str,
    overrides: usize,
}

impl<'a> Listed<'a> {
    fn of(policy: &'a ActivePolicy) -> Listed<'a> {
        let lines = |limits: &[Limit]| limits.iter().map(ToString::to_string).collect();
        Listed {
            name: policy.name().as_str(),
            limits: lines(policy.policy().limits()),
            candidate: lines(policy.candidate().map_or(&[], |policy| policy.limits())),
            enforce: policy.enforce().to_string(),
            headers: policy.dialect().name(),
            overrides: policy.overrides(),
        }
    }
}

fn listed(policies: &Policies) -> String {
    #[derive(Serialize)]
    struct All<'a> {
        policies: Vec<Listed<'a>>,
    }
    let all = All { policies: policies.iter().map(Listed::of).collect() };
    // Text and numbers cannot fail to be written.
    serde_json::to_string(&all).unwrap_or_default()
}
