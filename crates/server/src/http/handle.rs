//! From requests to answers: all that came together is decided in one call.

use smallvec::{SmallVec, smallvec};
use tollgate::Enforce;
use tollgate_core::{Act, Decision};
use tollgate_http::{Problem, RateLimitHeaders};
use tracing::Span;

use super::check_request::CheckRequest;
use super::pages;
use super::query::{self, Question};
use super::rejection::Rejection;
use super::response::Response;
use super::routes::{self, Page, Route};
use super::{JSON, Request, body};
use crate::engine::operation::Operation;
use crate::engine::policies::Policies;
use crate::engine::{Answer, Engine};
use crate::host::worker::Worker;
use crate::trace;

/// A request that was understood, and how it will be answered.
struct Understood<'b> {
    act: Act,
    requests: SmallVec<[CheckRequest<'b>; 1]>,
    form: Form,
}

/// How decisions are told.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// One, in JSON.
    One,
    /// Many, in JSON.
    Batch,
    /// To a proxy: by the status, this one where someone is denied.
    Proxy(u16),
    /// There is none, but something to be looked at.
    Page(Page),
}

/// A request and the operations it comes to.
struct Plan<'a> {
    form: Form,
    operations: SmallVec<[Operation<'a>; 1]>,
}

/// Answers requests in their order: `each` is called with every answer.
pub(super) async fn handle(
    worker: &Worker,
    requests: &[Request<'_>],
    mut each: impl FnMut(usize, &Response),
) {
    let spans: SmallVec<[_; 1]> = requests.iter().map(span).collect();
    // These hold for all that came together, whatever is set meanwhile.
    let policies = worker.engine().policies();
    let most = worker.bounds().http.batch;
    let wants: SmallVec<[_; 1]> =
        requests.iter().map(|request| Understood::read(request, most)).collect();
    let plans: SmallVec<[_; 1]> = wants
        .iter()
        .map(|want| want.as_ref().map_err(Rejection::clone).and_then(|want| want.plan(&policies)))
        .collect();
    let operations = plans.iter().flatten().flat_map(|plan| &plan.operations);
    let mut answers = worker.engine().answer(worker.id(), operations).await.into_iter();
    let mut response = Response::default();
    for (place, plan) in plans.iter().enumerate() {
        match plan {
            Ok(plan) => plan.respond(answers.by_ref(), worker, &mut response),
            Err(rejection) => rejection.write_to(&mut response),
        }
        if let Some(span) = spans.get(place) {
            trace::record_status(span, response.status);
        }
        each(place, &response);
    }
}

/// What is told of a request to those who follow it: where it led, but not what it asked.
fn span(request: &Request<'_>) -> Span {
    let path = routes::relative(request.target).split('?').next().unwrap_or_default();
    trace::request(path, request.trace)
}

impl<'b> Understood<'b> {
    fn read(request: &Request<'b>, most: usize) -> Result<Understood<'b>, Rejection> {
        let target = routes::relative(request.target);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let want = |act, requests, form| Understood { act, requests, form };
        Ok(match routes::find(request.method, path)? {
            Route::Act(_) | Route::Batch if request.has_origin => return Err(Rejection::of_page()),
            Route::Act(_) | Route::Batch if !request.is_json => return Err(Rejection::no_json()),
            Route::Act(act) => want(act, smallvec![body::one(request.body)?], Form::One),
            Route::Batch => want(Act::Check, body::many(request.body, most)?.into(), Form::Batch),
            Route::Proxy => {
                let Question { act, check, deny } = query::read(query)?;
                want(act, smallvec![check], Form::Proxy(deny))
            }
            Route::Page(page) => want(Act::Peek, SmallVec::new(), Form::Page(page)),
        })
    }

    fn plan<'a>(&'a self, policies: &'a Policies) -> Result<Plan<'a>, Rejection> {
        let operations = match self.form {
            Form::Page(Page::Ready) => pages::readiness().into_iter().collect(),
            Form::Batch => self.operations(policies, Rejection::at)?,
            _ => self.operations(policies, |rejection, _| rejection)?,
        };
        Ok(Plan { form: self.form, operations })
    }

    fn operations<'a>(
        &'a self,
        policies: &'a Policies,
        wrong: impl Fn(Rejection, usize) -> Rejection,
    ) -> Result<SmallVec<[Operation<'a>; 1]>, Rejection> {
        let requests = self.requests.iter().enumerate();
        let operation = |(place, check): (usize, &'a CheckRequest<'b>)| {
            check.operation(self.act, policies).map_err(|rejection| wrong(rejection, place))
        };
        requests.map(operation).collect()
    }
}

impl Plan<'_> {
    fn respond(
        &self,
        answers: &mut impl Iterator<Item = Answer>,
        worker: &Worker,
        response: &mut Response,
    ) {
        if let Form::Batch = self.form {
            return self.batch(answers, response);
        }
        let own = self.operations.first().zip(self.operations.first().and_then(|_| answers.next()));
        match (self.form, &own) {
            (Form::Page(page), own) => {
                pages::write(page, worker, own.as_ref().map(|(_, answer)| answer), response);
            }
            (_, Some((_, Err(error)))) => Rejection::from(error).write_to(response),
            (Form::Proxy(deny), Some((operation, Ok(decision)))) => {
                to_proxy(operation, decision, deny, worker.engine(), response);
            }
            (_, Some((operation, Ok(decision)))) => {
                one(operation, decision, worker.engine(), response);
            }
            (_, None) => {}
        }
    }

    fn batch(&self, answers: &mut impl Iterator<Item = Answer>, response: &mut Response) {
        response.begin(200, JSON);
        let json = &mut response.body;
        json.push_str("{\"results\":[");
        for (place, operation) in self.operations.iter().enumerate() {
            json.push_str(if place > 0 { "," } else { "" });
            match answers.next() {
                Some(Ok(decision)) => push(json, operation, &decision),
                Some(Err(error)) => Rejection::from(&error).write_body(json),
                None => {}
            }
        }
        json.push_str("]}");
    }
}

/// A decision in JSON. Whoever is denied is also told by the header fields that clients know.
fn one(operation: &Operation<'_>, decision: &Decision, engine: &Engine, response: &mut Response) {
    response.begin(if decision.allowed { 200 } else { 429 }, JSON);
    if !decision.allowed {
        tell(operation, decision, engine, response);
    }
    push(&mut response.body, operation, decision);
}

/// A decision for a proxy, which passes the header fields on.
fn to_proxy(
    operation: &Operation<'_>,
    decision: &Decision,
    deny: u16,
    engine: &Engine,
    response: &mut Response,
) {
    response.begin(if decision.allowed { 200 } else { deny }, Problem::CONTENT_TYPE);
    tell(operation, decision, engine, response);
    let Some(policy) = operation.policy() else { return };
    if !decision.allowed && policy.enforce() != Enforce::Silent {
        let policy = operation.policy_as_asked(policy);
        let limit = RateLimitHeaders::new(&policy, decision, engine.now()).limit_name();
        let problem = Problem::quota_exceeded(limit.as_deref().unwrap_or_default());
        problem.with_status(deny).write_to(&mut response.body);
    }
}

fn tell(operation: &Operation<'_>, decision: &Decision, engine: &Engine, response: &mut Response) {
    response.field("cache-control", "no-store");
    let Some(policy) = operation.policy() else { return };
    // Whoever is turned away silently is not told that there is a limit.
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

fn push(json: &mut String, operation: &Operation<'_>, decision: &Decision) {
    json.push('{');
    tollgate_sim::push_decision(json, decision);
    if let Some(policy) = operation.policy() {
        json.push_str(",\"policy\":\"");
        // A name has nothing that must be escaped.
        json.push_str(policy.name().as_str());
        json.push_str("\",\"bound_by\":");
        json.push_str(&operation.line(decision.bound_by));
    }
    json.push('}');
}
