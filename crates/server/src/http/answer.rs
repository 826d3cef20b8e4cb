//! From hyper's request to ours, and from our response to hyper's.

use std::convert::Infallible;
use std::rc::Rc;

use hyper::Version;
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;

use super::call::Call;
use super::connection::Connection;
use super::handle::handle;
use super::head::check_head;
use super::rejection::Rejection;
use super::response::Response;
use super::response_body::ResponseBody;
use super::{request_body, routes};
use crate::trace;

/// Answers a request of either version.
pub(super) async fn answer(
    connection: Rc<Connection>,
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<ResponseBody>, Infallible> {
    let mut open = connection.progress.begin();
    let (head, body) = request.into_parts();
    let body = read_body(&connection, &head, body).await;
    let Parts { method, uri, version, headers, .. } = head;
    let is_whole = body.as_ref().is_ok_and(|body| body.is_whole);
    let mut response = match &body {
        Ok(ReadBody { bytes: body, .. }) => {
            let service = &connection.service;
            let span = trace::request(uri.path(), trace::parent(&headers));
            let call = Call::parse(&method, &uri, &headers, body, service.limits.batch);
            let mut response = Response::reusing(headers);
            handle(&connection, call, &mut response).await;
            trace::record_status(&span, response.status);
            response
        }
        Err(rejection) => {
            let mut response = Response::reusing(headers);
            rejection.write_to(&mut response);
            response
        }
    };
    if !is_whole && version != Version::HTTP_2 {
        // What is left of the request cannot be told from the next one.
        response.closes = true;
        open.leave_rest();
    }
    Ok(response.into_hyper(&method, connection.unsent.as_ref()))
}

async fn read_body(
    connection: &Connection,
    head: &Parts,
    body: Incoming,
) -> Result<ReadBody, Rejection> {
    let Connection { service, unsent, .. } = connection;
    check_head(head, &body)?;
    let (max, timeout) = (service.limits.max_pending_bytes, service.limits.timeout);
    if let Some(unsent) = unsent
        && !unsent.wait_below(max, timeout).await
    {
        return Err(Rejection::unread());
    }
    if routes::ignores_body(head.uri.path()) {
        let is_whole = request_body::ignore(body).await;
        return Ok(ReadBody { bytes: Bytes::new(), is_whole });
    }
    let bytes = request_body::read(body, service).await?;
    Ok(ReadBody { bytes, is_whole: true })
}

/// The body of a request.
struct ReadBody {
    bytes: Bytes,
    /// Whether nothing of it is left.
    is_whole: bool,
}
