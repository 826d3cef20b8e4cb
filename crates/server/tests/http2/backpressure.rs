//! Clients that do not read their responses.

use std::io::{ErrorKind, Write as _};
use std::time::{Duration, Instant};

use tollgate_server::{HttpLimits, Server};

use crate::frames::{DATA, HEADERS, PING, PREFACE, Raw, SETTINGS, WINDOW_UPDATE, frame, get};
use crate::server;
use crate::support::TIMEOUT;

/// A client whose initial window is zero, so that it accepts no body.
fn without_window(server: &Server) -> Raw {
    let mut raw = Raw::without_preface(server);
    let no_window = [0, 4, 0, 0, 0, 0];
    raw.send(&[PREFACE, &frame(SETTINGS, 0, 0, &no_window)].concat());
    raw
}

/// Pings do not help a client that reads nothing.
#[test]
fn a_client_that_never_reads_is_disconnected() {
    let mut limits = HttpLimits::default();
    limits.timeout = Duration::from_millis(200);
    limits.idle = Duration::from_secs(3_600);
    let server = server(limits);
    for target in ["/openapi.json", "/v1/policies"] {
        let mut raw = without_window(&server);
        raw.send(&get(1, target));
        assert_eq!(raw.next(HEADERS).stream, 1);
        let begin = Instant::now();
        let end = loop {
            assert!(begin.elapsed() < TIMEOUT, "{target}: the client is not disconnected");
            // The server may have closed the connection already.
            let _ = raw.0.write_all(&frame(PING, 0, 0, b"still on"));
            match raw.read() {
                Ok(frame) => assert_ne!(frame.kind, DATA, "{target}"),
                Err(error) => break error.kind(),
            }
        };
        assert_ne!(end, ErrorKind::WouldBlock, "{target}: the read timed out");
    }
}

/// The next request is processed when some of the response was read.
#[test]
fn unread_responses_do_not_pile_up() {
    let mut limits = HttpLimits::default();
    limits.max_pending_bytes = 1_000;
    limits.timeout = Duration::from_secs(60);
    let server = server(limits);
    let mut raw = without_window(&server);
    raw.send(&get(1, "/openapi.json"));
    assert_eq!(raw.next(HEADERS).stream, 1);
    raw.send(&get(3, "/healthz"));
    for _ in 0..20 {
        raw.send(&frame(PING, 0, 0, b"are you?"));
        let frame = raw.read().unwrap();
        assert_eq!((frame.kind, frame.stream), (PING, 0), "nothing was read yet");
    }
    // Enough for the whole response.
    let more = (1_u32 << 20).to_be_bytes();
    for stream in [0, 1, 3] {
        raw.send(&frame(WINDOW_UPDATE, 0, stream, &more));
    }
    assert_eq!(raw.next(HEADERS).stream, 3);
    while raw.next(DATA).stream != 3 {}
}
