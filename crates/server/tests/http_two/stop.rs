//! What becomes of streams when the server stops.

use std::thread;

use tollgate_server::HttpLimits;

use crate::frames::{DATA, GOAWAY, HEADERS, Raw, get};
use crate::server;
use crate::support::slow;

#[test]
fn whoever_is_idle_is_told_to_go() {
    let server = server(HttpLimits::default());
    let mut raw = Raw::of(&server);
    raw.is_healthy(1);
    let stopping = thread::spawn(move || server.stop());
    let frames = raw.rest();
    let told: Vec<_> = frames.iter().filter(|frame| frame.kind == GOAWAY).collect();
    assert!(!told.is_empty(), "{frames:?}");
    assert!(told.iter().all(|frame| frame.payload[4..8] == [0; 4]), "no error: {told:?}");
    drop(raw);
    stopping.join().unwrap();
}

#[test]
fn what_is_in_flight_is_finished() {
    let (server, is_asked, allow) = slow::server();
    let mut raw = Raw::of(&server);
    raw.send(&get(1, "/check?key=a&cost=6"));
    is_asked.recv().unwrap();
    let stopping = thread::spawn(move || server.stop());
    // It is told to go, and then it is answered all the same.
    raw.next(GOAWAY);
    allow.send(()).unwrap();
    let head = raw.next(HEADERS);
    assert_eq!(head.stream, 1);
    let body = raw.next(DATA);
    assert!(String::from_utf8_lossy(&body.payload).contains("#quota-exceeded"), "{body:?}");
    raw.rest();
    stopping.join().unwrap();
}
