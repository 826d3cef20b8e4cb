//! Clients that do not read what they asked for.

use std::io::{ErrorKind, Write as _};
use std::time::{Duration, Instant};

use tollgate_server::{HttpLimits, Server};

use crate::frames::{DATA, HEADERS, PING, PREFACE, Raw, SETTINGS, WINDOW_UPDATE, frame, get};
use crate::server;
use crate::support::PATIENCE;

/// A client that takes no byte of any body before it says so.
fn closed_to_all(server: &Server) -> Raw {
    let mut raw = Raw::silent(server);
    let no_window = [0, 4, 0, 0, 0, 0];
    raw.send(&[PREFACE, &frame(SETTINGS, 0, 0, &no_window)].concat());
    raw
}

/// A client can say that it is there all the time, and still read nothing.
#[test]
fn whoever_never_reads_is_left() {
    let mut bounds = HttpLimits::default();
    bounds.timeout = Duration::from_millis(200);
    bounds.idle = Duration::from_secs(3_600);
    let server = server(bounds);
    for target in ["/openapi.json", "/v1/policies"] {
        let mut raw = closed_to_all(&server);
        raw.send(&get(1, target));
        assert_eq!(raw.next(HEADERS).stream, 1);
        let begin = Instant::now();
        let end = loop {
            assert!(begin.elapsed() < PATIENCE, "{target}: nobody is left");
            // It may be left already.
            let _ = raw.0.write_all(&frame(PING, 0, 0, b"still on"));
            match raw.read() {
                Ok(frame) => assert_ne!(frame.kind, DATA, "{target}"),
                Err(error) => break error.kind(),
            }
        };
        assert_ne!(end, ErrorKind::WouldBlock, "{target}: nothing was said for long");
    }
}

/// More is answered when some of it was read.
#[test]
fn answers_that_are_not_read_do_not_pile_up() {
    let mut bounds = HttpLimits::default();
    bounds.max_pending_bytes = 1_000;
    bounds.timeout = Duration::from_secs(60);
    let server = server(bounds);
    let mut raw = closed_to_all(&server);
    raw.send(&get(1, "/openapi.json"));
    assert_eq!(raw.next(HEADERS).stream, 1);
    raw.send(&get(3, "/healthz"));
    for _ in 0..20 {
        raw.send(&frame(PING, 0, 0, b"are you?"));
        let frame = raw.read().unwrap();
        assert_eq!((frame.kind, frame.stream), (PING, 0), "nobody has read anything");
    }
    // Enough for all of it.
    let more = (1_u32 << 20).to_be_bytes();
    for stream in [0, 1, 3] {
        raw.send(&frame(WINDOW_UPDATE, 0, stream, &more));
    }
    assert_eq!(raw.next(HEADERS).stream, 3);
    while raw.next(DATA).stream != 3 {}
}
