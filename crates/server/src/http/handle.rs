//! From a request to its response, whose decisions are made in one call of the engine.

use smallvec::smallvec;

use super::call::Call;
use super::connection::Connection;
use super::rejection::Rejection;
use super::respond::respond;
use super::response::Response;
use crate::engine::Answers;
use crate::engine::policies::Policies;

/// Answers a request.
pub(super) async fn handle(
    connection: &Connection,
    call: Result<Call<'_>, Rejection>,
    response: &mut Response,
) {
    // One set of policies for all checks of the request, though a reload may replace it meanwhile.
    let policies = connection.service.engine.policies();
    if let Err(rejection) = decide(connection, call, &policies, response).await {
        rejection.write_to(response);
    }
}

async fn decide(
    connection: &Connection,
    call: Result<Call<'_>, Rejection>,
    policies: &Policies,
    response: &mut Response,
) -> Result<(), Rejection> {
    let call = call?;
    let operations = call.operations(policies)?;
    let service = &connection.service;
    let (engine, worker_id) = (&service.engine, service.worker.id());
    let answers: Answers = match operations.as_slice() {
        [] => Answers::new(),
        [operation] => smallvec![engine.answer_one(worker_id, operation).await],
        several => engine.answer(worker_id, several.iter()).await,
    };
    respond(connection, &call, &operations, answers.into_iter(), response);
    Ok(())
}
