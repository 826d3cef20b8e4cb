//! Pages: liveness, readiness, metrics, policies, and the OpenAPI description.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tollgate::layers::{Distribution, Prefetch, WriteBehind};
use tollgate_core::Limit;

use super::openapi::OPENAPI;
use super::rejection::Rejection;
use super::response::{JSON, Response};
use super::routes::Page;
use super::service::Service;
use crate::engine::active_policy::ActivePolicy;
use crate::engine::operation::Operation;
use crate::engine::policies::Policies;
use crate::engine::probe;
use crate::engine::{Answer, is_unavailable};
use crate::metrics;

const TEXT: &str = "text/plain; charset=utf-8";

impl Page {
    /// Returns the operation that the page needs: readiness asks the store.
    pub(super) fn operation<'a>(self) -> Option<Operation<'a>> {
        if self == Page::Ready { probe::operation() } else { None }
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
        Page::Ready => match readiness(service, probe) {
            Ok(text) => write_text(response, text),
            Err(rejection) => rejection.write_to(response),
        },
        Page::Metrics => {
            response.begin(200, metrics::CONTENT_TYPE);
            let (engine, connections) = (Arc::clone(&service.engine), service.connections.clone());
            metrics::Exposition { engine, connections }.write_to(&mut response.body);
        }
        Page::Policies => {
            let engine = &service.engine;
            response.begin(200, JSON);
            response.body.push_str(&policies_json(&engine.policies(), engine.wall_behind()));
        }
        Page::OpenApi => {
            response.begin(200, JSON);
            response.body.push_str(OPENAPI);
        }
    }
    response.no_store();
}

/// Returns what the readiness page says.
///
/// # Errors
/// Fails if checks of some policy would fail now, or the server is about to stop.
fn readiness(service: &Service, probe: Option<&Answer>) -> Result<&'static str, Rejection> {
    let engine = &service.engine;
    match probe {
        _ if service.worker.is_stopping() => Err(Rejection::stopping()),
        Some(answer) if is_unavailable(answer) && !engine.fails_without_store() => Ok("degraded\n"),
        // A store in memory that is full decides by `when_full`.
        Some(Err(error)) if !error.is_full() => Err(Rejection::from(error)),
        _ => Ok("ready\n"),
    }
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
    on_failure: &'a str,
    distribution: &'a str,
    #[serde(flatten)]
    settings: DistributionSettings,
    overrides: usize,
    generation: u32,
    /// How far the wall clock is behind, if that matters to the policy: its windows begin and end too early.
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_clock_behind_ms: Option<u128>,
}

/// The settings of a distribution, each only if it has it.
#[derive(Serialize, Default)]
struct DistributionSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    flush_ms: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_slice: Option<String>,
}

impl DistributionSettings {
    fn of(distribution: Distribution) -> DistributionSettings {
        let mut settings = DistributionSettings::default();
        match distribution {
            Distribution::WriteBehind(WriteBehind { flush, cap, read, .. }) => {
                settings.flush_ms = Some(flush.as_millis());
                settings.cap = Some(cap.to_string());
                settings.read = Some(read.name());
            }
            Distribution::Prefetch(Prefetch { max_slice, .. }) => {
                settings.max_slice = Some(max_slice.to_string());
            }
            _ => {}
        }
        settings
    }
}

impl<'a> ListedPolicy<'a> {
    fn new(policy: &'a ActivePolicy, wall_behind: Option<Duration>) -> ListedPolicy<'a> {
        let wall_behind = wall_behind.filter(|_| policy.counts_by_calendar());
        let lines = |limits: &[Limit]| limits.iter().map(ToString::to_string).collect();
        ListedPolicy {
            name: policy.name().as_str(),
            limits: lines(policy.policy().limits()),
            candidate: lines(policy.candidate().map_or(&[], |policy| policy.limits())),
            enforce: policy.enforce().to_string(),
            headers: policy.dialect().name(),
            on_failure: policy.on_failure().name(),
            distribution: policy.distribution().name(),
            settings: DistributionSettings::of(policy.distribution()),
            overrides: policy.overrides(),
            generation: policy.generation(),
            wall_clock_behind_ms: wall_behind.map(|behind| behind.as_millis()),
        }
    }
}

fn policies_json(policies: &Policies, wall_behind: Option<Duration>) -> String {
    #[derive(Serialize)]
    struct List<'a> {
        policies: Vec<ListedPolicy<'a>>,
    }
    let list = List {
        policies: policies.iter().map(|policy| ListedPolicy::new(policy, wall_behind)).collect(),
    };
    // Serializing strings and numbers cannot fail.
    serde_json::to_string(&list).unwrap_or_default()
}
