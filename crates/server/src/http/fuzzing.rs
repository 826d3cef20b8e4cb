//! One connection of HTTP/1 without a socket.

use serde::de::IgnoredAny;

use super::exchange::exchange;
use super::head::{Step, find};
use super::refusal::Refusal;
use super::response::{Manner, Response};
use crate::fuzzing::{at_once, hear};
use crate::host::event_loop::Loop;
use crate::metrics;

/// What comes of bytes: the answers, a status for each and what it says.
pub(crate) fn answers(home: &Loop, pieces: [&[u8]; 2]) -> Vec<(u16, String)> {
    let bounds = &home.bounds().http;
    let mut said = Vec::new();
    hear(pieces, bounds.head_bytes + bounds.body_bytes, |bytes| answer(home, bytes, &mut said));
    said
}

/// How many bytes were taken; `None` if the connection ends.
fn answer(home: &Loop, bytes: &mut [u8], said: &mut Vec<(u16, String)>) -> Option<usize> {
    let (mut heads, mut start) = (Vec::new(), 0);
    let (taken, broken) = loop {
        match find(bytes, start, &home.bounds().http) {
            Ok(Step::Whole(head)) => {
                assert!((start + 1..=bytes.len()).contains(&head.end));
                start = head.end;
                heads.push(head);
                if heads.last().is_some_and(|head| !head.keeps_alive) {
                    break (None, None);
                }
            }
            Ok(Step::Part { .. }) => break (Some(start), None),
            Err(broken) => break (None, Some(broken)),
        }
    };
    let requests: Vec<_> = heads.iter().map(|head| head.request(bytes)).collect();
    let many = said.len() + requests.len();
    at_once(exchange(home, &requests, |_, response| said.push(told(response))));
    assert_eq!(said.len(), many, "every request is answered");
    if let Some(broken) = broken {
        let mut response = Response::default();
        Refusal::from(broken).write_to(&mut response);
        told(&response);
        // How much of it came decides which of several mistakes is seen first.
        said.push((0, String::new()));
    }
    taken
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
