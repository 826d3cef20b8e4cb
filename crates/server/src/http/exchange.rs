//! From requests to answers: all that came together is decided in one call.

use smallvec::{SmallVec, smallvec};
use tollgate::Enforce;
use tollgate_core::{Act, Decision};
use tollgate_http::{Problem, Told};
use tracing::Span;

use super::pages;
use super::query::{self, Question};
use super::refusal::Refusal;
use super::response::Response;
use super::routes::{self, Page, Route};
use super::wish::Wish;
use super::{JSON, Request, body};
use crate::engine::ask::Ask;
use crate::engine::policies::Policies;
use crate::engine::{Answer, Engine};
use crate::host::event_loop::Loop;
use crate::trace;

/// A request that was understood, and how it will be answered.
struct Want<'b> {
    act: Act,
    wishes: SmallVec<[Wish<'b>; 1]>,
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
    asks: SmallVec<[Ask<'a>; 1]>,
}

/// Answers requests in their order: `each` is called with every answer.
pub(super) async fn exchange(
    home: &Loop,
    requests: &[Request<'_>],
    mut each: impl FnMut(usize, &Response),
) {
    let spans: SmallVec<[_; 1]> = requests.iter().map(span).collect();
    // These hold for all that came together, whatever is set meanwhile.
    let policies = home.engine().policies();
    let most = home.bounds().http.batch;
    let wants: SmallVec<[_; 1]> =
        requests.iter().map(|request| Want::read(request, most)).collect();
    let plans: SmallVec<[_; 1]> = wants
        .iter()
        .map(|want| want.as_ref().map_err(Refusal::clone).and_then(|want| want.plan(&policies)))
        .collect();
    let asks = plans.iter().flatten().flat_map(|plan| &plan.asks);
    let mut answers = home.engine().answer(home.place(), asks).await.into_iter();
    let mut response = Response::default();
    for (place, plan) in plans.iter().enumerate() {
        match plan {
            Ok(plan) => plan.respond(answers.by_ref(), home, &mut response),
            Err(refusal) => refusal.write_to(&mut response),
        }
        if let Some(span) = spans.get(place) {
            trace::answered(span, response.status);
        }
        each(place, &response);
    }
}

/// What is told of a request to those who follow it: where it led, but not what it asked.
fn span(request: &Request<'_>) -> Span {
    let path = routes::relative(request.target).split('?').next().unwrap_or_default();
    trace::request(path, request.trace)
}

impl<'b> Want<'b> {
    fn read(request: &Request<'b>, most: usize) -> Result<Want<'b>, Refusal> {
        let target = routes::relative(request.target);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let want = |act, wishes, form| Want { act, wishes, form };
        Ok(match routes::find(request.method, path)? {
            Route::Act(_) | Route::Batch if request.is_of_page => return Err(Refusal::of_page()),
            Route::Act(_) | Route::Batch if !request.is_json => return Err(Refusal::no_json()),
            Route::Act(act) => want(act, smallvec![body::one(request.body)?], Form::One),
            Route::Batch => want(Act::Check, body::many(request.body, most)?.into(), Form::Batch),
            Route::Proxy => {
                let Question { act, wish, deny } = query::read(query)?;
                want(act, smallvec![wish], Form::Proxy(deny))
            }
            Route::Page(page) => want(Act::Peek, SmallVec::new(), Form::Page(page)),
        })
    }

    fn plan<'a>(&'a self, policies: &'a Policies) -> Result<Plan<'a>, Refusal> {
        let asks = match self.form {
            Form::Page(Page::Ready) => pages::readiness().into_iter().collect(),
            Form::Batch => self.asks(policies, Refusal::at)?,
            _ => self.asks(policies, |refusal, _| refusal)?,
        };
        Ok(Plan { form: self.form, asks })
    }

    fn asks<'a>(
        &'a self,
        policies: &'a Policies,
        wrong: impl Fn(Refusal, usize) -> Refusal,
    ) -> Result<SmallVec<[Ask<'a>; 1]>, Refusal> {
        let wishes = self.wishes.iter().enumerate();
        let ask = |(place, wish): (usize, &'a Wish<'b>)| {
            wish.ask(self.act, policies).map_err(|refusal| wrong(refusal, place))
        };
        wishes.map(ask).collect()
    }
}

impl Plan<'_> {
    fn respond(
        &self,
        answers: &mut impl Iterator<Item = Answer>,
        home: &Loop,
        response: &mut Response,
    ) {
        if let Form::Batch = self.form {
            return self.batch(answers, response);
        }
        let own = self.asks.first().zip(self.asks.first().and_then(|_| answers.next()));
        match (self.form, &own) {
            (Form::Page(page), own) => {
                pages::write(page, home, own.as_ref().map(|(_, answer)| answer), response);
            }
            (_, Some((_, Err(error)))) => Refusal::from(error).write_to(response),
            (Form::Proxy(deny), Some((ask, Ok(decision)))) => {
                to_proxy(ask, decision, deny, home.engine(), response);
            }
            (_, Some((ask, Ok(decision)))) => one(ask, decision, home.engine(), response),
            (_, None) => {}
        }
    }

    fn batch(&self, answers: &mut impl Iterator<Item = Answer>, response: &mut Response) {
        response.begin(200, JSON);
        let json = &mut response.body;
        json.push_str("{\"results\":[");
        for (place, ask) in self.asks.iter().enumerate() {
            json.push_str(if place > 0 { "," } else { "" });
            match answers.next() {
                Some(Ok(decision)) => push(json, ask, &decision),
                Some(Err(error)) => Refusal::from(&error).write_body(json),
                None => {}
            }
        }
        json.push_str("]}");
    }
}

/// A decision in JSON. Whoever is denied is also told by the header fields that clients know.
fn one(ask: &Ask<'_>, decision: &Decision, engine: &Engine, response: &mut Response) {
    response.begin(if decision.allowed { 200 } else { 429 }, JSON);
    if !decision.allowed {
        tell(ask, decision, engine, response);
    }
    push(&mut response.body, ask, decision);
}

/// A decision for a proxy, which passes the header fields on.
fn to_proxy(
    ask: &Ask<'_>,
    decision: &Decision,
    deny: u16,
    engine: &Engine,
    response: &mut Response,
) {
    response.begin(if decision.allowed { 200 } else { deny }, Problem::CONTENT_TYPE);
    tell(ask, decision, engine, response);
    let Some(regime) = ask.regime() else { return };
    if !decision.allowed && regime.enforce() != Enforce::Silent {
        let policy = ask.policy_as_asked(regime);
        let limit = Told::new(&policy, decision, engine.now()).limit_name();
        let problem = Problem::quota_exceeded(limit.as_deref().unwrap_or_default());
        problem.with_status(deny).write_to(&mut response.body);
    }
}

fn tell(ask: &Ask<'_>, decision: &Decision, engine: &Engine, response: &mut Response) {
    response.field("cache-control", "no-store");
    let Some(regime) = ask.regime() else { return };
    // Whoever is turned away silently is not told that there is a limit.
    if regime.enforce() == Enforce::Silent {
        return;
    }
    let policy = ask.policy_as_asked(regime);
    let mut told = Told::new(&policy, decision, engine.now());
    if let Some(key) = ask.key() {
        told = told.key(key);
    }
    told.fields(regime.dialect(), |name, value| response.field(name, value));
}

fn push(json: &mut String, ask: &Ask<'_>, decision: &Decision) {
    json.push('{');
    tollgate_sim::push_decision(json, decision);
    if let Some(regime) = ask.regime() {
        json.push_str(",\"policy\":\"");
        // A name has nothing that must be escaped.
        json.push_str(regime.name().as_str());
        json.push_str("\",\"bound_by\":");
        json.push_str(&ask.line(decision.bound_by));
    }
    json.push('}');
}
