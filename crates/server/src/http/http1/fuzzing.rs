//! A connection of HTTP/1 without a socket.

use serde::de::IgnoredAny;

use super::error::{MessageError, TOO_LARGE};
use super::framing::Framing;
use super::head::Head;
use super::pipeline::{Next, Pipeline};
use crate::feed::{at_once, feed};
use crate::http::handle::handle;
use crate::http::rejection::Rejection;
use crate::http::response::Response;
use crate::http::service::Service;
use crate::metrics;

/// The status, and the rest of a response.
type Answered = (u16, String);

/// Returns the responses to bytes that arrive in two pieces.
pub(crate) fn answers(service: &Service, pieces: [&[u8]; 2]) -> Vec<Answered> {
    let (mut answered, mut pipeline) = (Vec::new(), Pipeline::default());
    feed(pieces, service.limits.request_bytes(), |bytes| {
        answer(service, &mut pipeline, bytes, &mut answered)
    });
    answered
}

/// Returns how many bytes were consumed; `None` if the connection ends.
fn answer(
    service: &Service,
    pipeline: &mut Pipeline,
    bytes: &mut [u8],
    answered: &mut Vec<Answered>,
) -> Option<usize> {
    let limits = &service.limits;
    loop {
        let (heads, next) = pipeline.find(bytes, limits);
        answer_all(service, &heads, bytes, answered);
        let left = pipeline.rest(bytes).len();
        let error = match next {
            _ if heads.last().is_some_and(|head| !head.keeps_alive) => return None,
            Ok(Next::More) => continue,
            Ok(Next::Partial { .. }) if left >= limits.request_bytes() => TOO_LARGE,
            Ok(Next::Partial { .. }) => break,
            Err(error) => error,
        };
        answered.push(rejected(error));
        return None;
    }
    let consumed = pipeline.take_consumed();
    assert!(consumed <= bytes.len(), "{consumed} of {} bytes are consumed", bytes.len());
    Some(consumed)
}

fn answer_all(service: &Service, heads: &[Head], bytes: &[u8], answered: &mut Vec<Answered>) {
    let requests: Vec<_> = heads.iter().map(|head| head.request(bytes)).collect();
    let many = answered.len() + requests.len();
    at_once(handle(service, &requests, |_, response| answered.push(parsed(response))));
    assert_eq!(answered.len(), many, "every request is answered");
}

fn rejected(error: MessageError) -> Answered {
    let mut response = Response::default();
    Rejection::from(error).write_to(&mut response);
    parsed(&response);
    // Which of several errors is found first depends on how much has arrived.
    (0, String::new())
}

/// Parses a response as a client would.
fn parsed(response: &Response) -> Answered {
    let mut out = Vec::new();
    Framing { date: "", without_body: false, connection: None }.write(response, &mut out);
    let mut fields = [httparse::EMPTY_HEADER; 16];
    let mut client = httparse::Response::new(&mut fields);
    let head = client.parse(&out).map(httparse::Status::unwrap).unwrap_or_default();
    assert_eq!(client.code, Some(response.status), "{}", out.escape_ascii());
    assert_eq!(out.len() - head, response.body.len(), "{}", out.escape_ascii());
    if response.content_type.ends_with("json") && !response.body.is_empty() {
        let json = serde_json::from_str::<IgnoredAny>(&response.body);
        assert!(json.is_ok(), "{}", response.body);
    }
    if response.content_type == metrics::CONTENT_TYPE {
        // The page has durations.
        return (response.status, String::new());
    }
    (response.status, format!("{:?} {}", response.fields, response.body))
}
