//! Reads the body of a request, within the limits on its size and on the time it takes.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};
use tokio::time::timeout;

use super::rejection::Rejection;
use super::service::Service;

/// Reads a body.
///
/// # Errors
/// Fails if the body is too large or malformed, does not arrive in time, or the server stops before it does.
pub(super) async fn read(mut body: Incoming, service: &Service) -> Result<Bytes, Rejection> {
    let max = service.limits.body_bytes;
    // Nothing of a body is read that is announced to be too large.
    if usize::try_from(body.size_hint().lower()).map_or(true, |announced| announced > max) {
        return Err(Rejection::body_too_large(max));
    }
    let mut reading = pin!(collect(&mut body, max));
    // Nearly always the body has arrived with the head, so that no timer is needed.
    if let Poll::Ready(read) = poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))).await {
        return read;
    }
    let reading = poll_fn(|cx| match service.worker.is_stopping() {
        true => Poll::Ready(Err(Rejection::stopping())),
        false => reading.as_mut().poll(cx),
    });
    timeout(service.limits.timeout, reading).await.unwrap_or_else(|_| Err(Rejection::timed_out()))
}

/// Reads what has arrived of a body that does not matter. Returns whether that is all of it.
pub(super) async fn ignore(mut body: Incoming) -> bool {
    poll_fn(|cx| {
        loop {
            if body.is_end_stream() {
                return Poll::Ready(true);
            }
            match Pin::new(&mut body).poll_frame(cx) {
                Poll::Ready(None) => return Poll::Ready(true),
                Poll::Ready(Some(Ok(frame))) if frame.is_data() => {}
                Poll::Ready(Some(_)) | Poll::Pending => return Poll::Ready(false),
            }
        }
    })
    .await
}

/// Joins the frames of a body. A body that came in one frame is not copied.
async fn collect(body: &mut Incoming, max: usize) -> Result<Bytes, Rejection> {
    let (mut first, mut joined) = (Bytes::new(), Vec::new());
    while !body.is_end_stream() {
        let Some(frame) = body.frame().await else { break };
        let frame = frame.map_err(|_| Rejection::bad_request("malformed request body"))?;
        // Where trailers end is a matter of opinion if they have lines without a carriage return: another
        // parser might find a request in them.
        let data = frame.into_data().map_err(|_| Rejection::bad_request("unexpected trailers"))?;
        if first.len().max(joined.len()) + data.len() > max {
            return Err(Rejection::body_too_large(max));
        }
        if first.is_empty() && joined.is_empty() {
            first = data;
            continue;
        }
        if joined.is_empty() {
            joined = Vec::from(std::mem::take(&mut first));
        }
        joined.extend_from_slice(&data);
    }
    Ok(if joined.is_empty() { first } else { joined.into() })
}
