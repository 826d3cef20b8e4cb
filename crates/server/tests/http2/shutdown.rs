//! Streams while the server stops.

use std::thread;

use tollgate_server::HttpLimits;

use crate::frames::{DATA, GOAWAY, HEADERS, Raw, get};
use crate::server;
use crate::support::slow;

#[test]
fn an_idle_connection_gets_a_goaway() {
    let server = server(HttpLimits::default());
    let mut raw = Raw::connect(&server);
    raw.assert_healthy(1);
    let stopping = thread::spawn(move || server.stop());
    let frames = raw.read_to_end();
    let goaways: Vec<_> = frames.iter().filter(|frame| frame.kind == GOAWAY).collect();
    assert!(!goaways.is_empty(), "{frames:?}");
    assert!(goaways.iter().all(|frame| frame.payload[4..8] == [0; 4]), "no error: {goaways:?}");
    drop(raw);
    stopping.join().unwrap();
}

#[test]
fn requests_in_flight_are_finished() {
    let (server, called, resume) = slow::server();
    let mut raw = Raw::connect(&server);
    raw.send(&get(1, "/check?key=a&cost=6"));
    called.recv().unwrap();
    let stopping = thread::spawn(move || server.stop());
    // The client gets a GOAWAY, and then its response nevertheless.
    raw.next(GOAWAY);
    resume.send(()).unwrap();
    let head = raw.next(HEADERS);
    assert_eq!(head.stream, 1);
    let body = raw.next(DATA);
    assert!(String::from_utf8_lossy(&body.payload).contains("#quota-exceeded"), "{body:?}");
    raw.read_to_end();
    stopping.join().unwrap();
}
