//! From requests to responses: what has arrived together is decided in one call of the engine.

use smallvec::SmallVec;
use tracing::Span;

use super::call::Call;
use super::rejection::Rejection;
use super::request::Request;
use super::respond::respond;
use super::response::Response;
use super::routes;
use super::service::Service;
use crate::trace;

/// Answers requests in order: `each` is called with the index of a request and its response.
pub(super) async fn handle(
    service: &Service,
    requests: &[Request<'_>],
    mut each: impl FnMut(usize, &Response),
) {
    let spans: SmallVec<[_; 1]> = requests.iter().map(span).collect();
    // One set of policies for all requests that arrived together, though a reload may replace it meanwhile.
    let policies = service.engine.policies();
    let max_batch = service.limits.batch;
    let calls: SmallVec<[_; 1]> =
        requests.iter().map(|request| Call::parse(request, max_batch)).collect();
    let operations: SmallVec<[_; 1]> = calls
        .iter()
        .map(|call| call.as_ref().map_err(Rejection::clone)?.operations(&policies))
        .collect();
    let all = operations.iter().flatten().flatten();
    let mut answers = service.engine.answer(service.worker.id(), all).await.into_iter();
    let mut response = Response::default();
    for (index, (call, operations)) in calls.iter().zip(&operations).enumerate() {
        match (call, operations) {
            (Ok(call), Ok(operations)) => {
                respond(service, call.format, operations, answers.by_ref(), &mut response);
            }
            (Err(rejection), _) | (_, Err(rejection)) => rejection.write_to(&mut response),
        }
        if let Some(span) = spans.get(index) {
            trace::record_status(span, response.status);
        }
        each(index, &response);
    }
}

/// The span of a request has its path, but not its query, which may hold keys.
fn span(request: &Request<'_>) -> Span {
    let path = routes::relative(request.target).split('?').next().unwrap_or_default();
    trace::request(path, request.trace)
}
