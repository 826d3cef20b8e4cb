//! One connection of HTTP/1 without a socket.

use serde::de::IgnoredAny;

use super::exchange::exchange;
use super::head::{Broken, Head, Step, TOO_LARGE, find};
use super::refusal::Refusal;
use super::response::{Manner, Response};
use crate::bounds::HttpBounds;
use crate::fuzzing::{at_once, hear};
use crate::host::event_loop::Loop;
use crate::metrics;

/// What comes of bytes: the answers, a status for each and what it says.
pub(crate) fn answers(home: &Loop, pieces: [&[u8]; 2]) -> Vec<(u16, String)> {
    let bounds = &home.bounds().http;
    let (room, mut said) = (bounds.request_bytes(), Vec::new());
    hear(pieces, room, |bytes| answer(home, bytes, room, &mut said));
    said
}

/// How many bytes were taken; `None` if the connection ends.
fn answer(
    home: &Loop,
    bytes: &mut [u8],
    room: usize,
    said: &mut Vec<(u16, String)>,
) -> Option<usize> {
    let (heads, end) = find_all(bytes, room, &home.bounds().http);
    let requests: Vec<_> = heads.iter().map(|head| head.request(bytes)).collect();
    let many = said.len() + requests.len();
    at_once(exchange(home, &requests, |_, response| said.push(told(response))));
    assert_eq!(said.len(), many, "every request is answered");
    end.unwrap_or_else(|broken| {
        let mut response = Response::default();
        Refusal::from(broken).write_to(&mut response);
        told(&response);
        // How much of it came decides which of several mistakes is seen first.
        said.push((0, String::new()));
        None
    })
}

/// The requests that have come whole, and where what has not come whole begins; nowhere, if nothing may
/// follow.
fn find_all(
    bytes: &mut [u8],
    room: usize,
    bounds: &HttpBounds,
) -> (Vec<Head>, Result<Option<usize>, Broken>) {
    let (mut heads, mut start) = (Vec::new(), 0);
    loop {
        while bytes.get(start..).is_some_and(|rest| rest.starts_with(b"\r\n")) {
            start += 2;
        }
        match find(bytes, start, bounds) {
            Ok(Step::Whole(head)) => {
                assert!((start + 1..=bytes.len()).contains(&head.end));
                let is_last = !head.keeps_alive;
                start = head.end;
                heads.push(head);
                if is_last {
                    return (heads, Ok(None));
                }
            }
            Ok(Step::Part { .. }) if start == 0 && bytes.len() == room => {
                return (heads, Err(TOO_LARGE));
            }
            Ok(Step::Part { .. }) => return (heads, Ok(Some(start))),
            Err(broken) => return (heads, Err(broken)),
        }
    }
}

/// An answer, seen by a client.
fn told(response: &Response) -> (u16, String) {
    let mut out = Vec::new();
    response.write_to(&mut out, Manner { date: "", without_body: false, connection: None });
    let mut fields = [httparse::EMPTY_HEADER; 16];
    let mut heard = httparse::Response::new(&mut fields);
    let head = heard.parse(&out).map(httparse::Status::unwrap).unwrap_or_default();
    assert_eq!(heard.code, Some(response.status), "{}", out.escape_ascii());
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
