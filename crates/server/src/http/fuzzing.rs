//! One connection of HTTP/1 without a socket.

use serde::de::IgnoredAny;

use super::handle::handle;
use super::head::{Broken, Head, TOO_LARGE};
use super::pipeline::{Pipeline, Then};
use super::rejection::Rejection;
use super::response::{Framing, Response};
use crate::fuzzing::{at_once, feed};
use crate::host::worker::Worker;
use crate::metrics;

/// A status, and what else was said.
type Said = (u16, String);

/// What comes of bytes.
pub(crate) fn answers(worker: &Worker, pieces: [&[u8]; 2]) -> Vec<Said> {
    let (mut said, mut pipeline) = (Vec::new(), Pipeline::default());
    feed(pieces, worker.bounds().http.request_bytes(), |bytes| {
        answer(worker, &mut pipeline, bytes, &mut said)
    });
    said
}

/// How many bytes were taken; `None` if the connection ends.
fn answer(
    worker: &Worker,
    pipeline: &mut Pipeline,
    bytes: &mut [u8],
    said: &mut Vec<Said>,
) -> Option<usize> {
    let bounds = &worker.bounds().http;
    loop {
        let (heads, then) = pipeline.find(bytes, bounds);
        answer_all(worker, &heads, bytes, said);
        let left = pipeline.rest(bytes).len();
        let broken = match then {
            _ if heads.last().is_some_and(|head| !head.keeps_alive) => return None,
            Ok(Then::More) => continue,
            Ok(Then::Part { .. }) if left >= bounds.request_bytes() => TOO_LARGE,
            Ok(Then::Part { .. }) => break,
            Err(broken) => broken,
        };
        said.push(refused(broken));
        return None;
    }
    let taken = pipeline.taken();
    assert!(taken <= bytes.len(), "{taken} of {} bytes are taken", bytes.len());
    Some(taken)
}

fn answer_all(worker: &Worker, heads: &[Head], bytes: &[u8], said: &mut Vec<Said>) {
    let requests: Vec<_> = heads.iter().map(|head| head.request(bytes)).collect();
    let many = said.len() + requests.len();
    at_once(handle(worker, &requests, |_, response| said.push(told(response))));
    assert_eq!(said.len(), many, "every request is answered");
}

fn refused(broken: Broken) -> Said {
    let mut response = Response::default();
    Rejection::from(broken).write_to(&mut response);
    told(&response);
    // How much of it came decides which of several mistakes is seen first.
    (0, String::new())
}

/// An answer, seen by a client.
fn told(response: &Response) -> Said {
    let mut out = Vec::new();
    response.write_to(&mut out, Framing { date: "", without_body: false, connection: None });
    let mut fields = [httparse::EMPTY_HEADER; 16];
    let mut feedd = httparse::Response::new(&mut fields);
    let head = feedd.parse(&out).map(httparse::Status::unwrap).unwrap_or_default();
    assert_eq!(feedd.code, Some(response.status), "{}", out.escape_ascii());
    assert_eq!(out.len() - head, response.body.len(), "{}", out.escape_ascii());
    if response.content_type.ends_with("json") && !response.body.is_empty() {
        let json = serde_json::from_str::<IgnoredAny>(&response.body);
        assert!(json.is_ok(), "{}", response.body);
    }
    if response.content_type == metrics::CONTENT_TYPE {
        // These tell how long it took.
        return (response.status, String::new());
    }
    (response.status, format!("{:?} {}", response.fields, response.body))
}
