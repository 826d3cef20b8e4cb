//! From hyper's request to ours, and from our response to hyper's.

use std::convert::Infallible;
use std::rc::Rc;

use hyper::Version;
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;

use super::connection::Connection;
use super::handle::handle;
use super::rejection::Rejection;
use super::request::{Method, Request, check_head};
use super::request_body;
use super::response::Response;
use super::response_body::ResponseBody;
use crate::trace;

/// Answers a request of either version.
pub(super) async fn answer(
    connection: Rc<Connection>,
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<ResponseBody>, Infallible> {
    let mut open = connection.progress.begin();
    let (mut head, body) = request.into_parts();
    let body = read_body(&connection, &head, body).await;
    let fields = std::mem::take(&mut head.headers);
    let response = match &body {
        Ok(body) => {
            let request = Request::new(&head, &fields, body);
            let span = trace::request(request.path(), trace::parent(&fields));
            let mut response = Response::reusing(fields);
            handle(&connection.service, &request, &mut response).await;
            trace::record_status(&span, response.status);
            response
        }
        Err(rejection) => {
            let mut response = Response::reusing(fields);
            rejection.write_to(&mut response);
            if head.version != Version::HTTP_2 {
                // What is left of the request cannot be told from the next one.
                response.closes = true;
                open.leave_rest();
            }
            response
        }
    };
    Ok(response.into_hyper(Method::new(&head.method), connection.unsent.as_ref()))
}

async fn read_body(
    connection: &Connection,
    head: &Parts,
    body: Incoming,
) -> Result<Bytes, Rejection> {
    let Connection { service, unsent, .. } = connection;
    check_head(head, &body)?;
    let (max, timeout) = (service.limits.max_pending_bytes, service.limits.timeout);
    if let Some(unsent) = unsent
        && !unsent.wait_below(max, timeout).await
    {
        return Err(Rejection::unread());
    }
    request_body::read(body, service).await
}
