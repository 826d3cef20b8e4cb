//! Timeouts and slow clients.

use std::io::{Read as _, Write as _};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tollgate_server::{HttpLimits, Server};

use crate::support::Client;
use crate::support::http::{self, HEALTHY, HEALTHZ, without_date};

/// The response to an incomplete head.
const TIMED_OUT: &str =
    "HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// The response to an incomplete body.
const BODY_TIMED_OUT: &str = "HTTP/1.1 408 Request Timeout\r\n\
                              content-type: application/problem+json\r\nconnection: close\r\n\
                              content-length: 119\r\n\r\n\
                              {\"type\":\"about:blank\",\"title\":\"Request Timeout\",\
                              \"status\":408,\
                              \"detail\":\"the rest of the request did not arrive in time\"}";

/// Creates a server with these timeouts in milliseconds.
fn server(timeout: u64, idle: u64) -> Server {
    let mut limits = HttpLimits::default();
    limits.timeout = Duration::from_millis(timeout);
    limits.idle = Duration::from_millis(idle);
    http::server().http_limits(limits).start().unwrap()
}

/// Reads until the server closes the connection.
fn read_to_end(client: &mut Client) -> String {
    String::from_utf8(without_date(&client.read_until(|_| false).unwrap())).unwrap()
}

#[test]
fn an_incomplete_request_times_out() {
    let server = server(200, 600_000);
    let head = "POST /v1/check HTTP/1.1\r\nhost: t\r\n";
    let halves = [
        ("G".to_owned(), TIMED_OUT),
        ("GET /healthz HTTP/1.1\r\nhost: t\r\n".into(), TIMED_OUT),
        ("GET /healthz HTTP/1.1\r\nhost: t\r\n\r".into(), TIMED_OUT),
        (format!("{head}content-length: 5\r\n\r\n"), BODY_TIMED_OUT),
        (format!("{head}content-length: 5\r\n\r\nabcd"), BODY_TIMED_OUT),
        (format!("{head}transfer-encoding: chunked\r\n\r\n"), BODY_TIMED_OUT),
        (format!("{head}transfer-encoding: chunked\r\n\r\n5\r\nabc"), BODY_TIMED_OUT),
        (format!("{head}transfer-encoding: chunked\r\n\r\n0\r\n"), BODY_TIMED_OUT),
        // It may be either version.
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n".into(), ""),
    ];
    let mut clients = halves.map(|(half, expected)| {
        let mut client = Client::http(&server);
        client.send(&half);
        (client, half, expected)
    });
    for (client, half, expected) in &mut clients {
        assert_eq!(read_to_end(client), *expected, "{half:?}");
    }
    let mut client = Client::http(&server);
    client.send(format!("{HEALTHZ}GET /heal"));
    assert_eq!(read_to_end(&mut client), format!("{HEALTHY}{TIMED_OUT}"));
}

/// The timeout is for the whole request, not for each of its bytes.
#[test]
fn sending_slowly_does_not_extend_the_timeout() {
    let server = server(300, 600_000);
    let mut client = Client::http(&server);
    client.stream().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let (begin, mut received) = (Instant::now(), Vec::new());
    client.send("GET /healthz HTTP/1.1\r\n");
    while received.is_empty() {
        assert!(begin.elapsed() < crate::support::TIMEOUT, "the request did not time out");
        client.send("x: y\r\n");
        received = client.read_until(|bytes| !bytes.is_empty()).unwrap_or_default();
    }
    assert_eq!(String::from_utf8(without_date(&received)).unwrap(), TIMED_OUT);
}

#[test]
fn idle_connections_time_out() {
    let server = server(600_000, 100);
    let mut used = Client::http(&server);
    used.assert_healthy();
    let mut unused = Client::http(&server);
    assert_eq!(read_to_end(&mut used), "");
    assert_eq!(read_to_end(&mut unused), "");
}

#[test]
fn requests_reset_the_idle_timeout() {
    let server = server(600_000, 50);
    let mut client = Client::http(&server);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(500) {
        client.assert_healthy();
    }
}

/// Between requests, too, and after a while without any.
#[test]
fn an_incomplete_request_times_out_after_a_pause() {
    let server = server(100, 600_000);
    let mut client = Client::http(&server);
    for _ in 0..3 {
        client.assert_healthy();
        sleep(Duration::from_millis(300));
    }
    client.send("GET /heal");
    assert_eq!(read_to_end(&mut client), TIMED_OUT);
}

/// Some clients send an empty line after a body. It does not start a request (RFC 9112, 2.2).
#[test]
fn an_empty_line_does_not_start_a_request() {
    let server = server(100, 600_000);
    let mut client = Client::http(&server);
    client.send(format!("{HEALTHZ}\r\n"));
    assert_eq!(client.response().status, 200);
    sleep(Duration::from_millis(500));
    client.assert_healthy();
}

/// The client gets one 100 response, even if the body arrives in pieces.
#[test]
fn continue_is_sent_once() {
    let server = server(600_000, 600_000);
    let mut probe = Client::http(&server);
    let mut client = Client::http(&server);
    client.send(format!(
        "{HEALTHZ}GET /healthz HTTP/1.1\r\nhost: t\r\nexpect: 100-continue\r\nconnection: close\r\n\
         content-length: 9\r\n\r\n"
    ));
    assert_eq!(client.response().status, 200);
    let received = client.read_until(|bytes| bytes.ends_with(b"\r\n\r\n")).unwrap();
    assert_eq!(String::from_utf8(received).unwrap(), "HTTP/1.1 100 Continue\r\n\r\n");
    for piece in ["abc", "def", "ghi"] {
        client.send(piece);
        probe.assert_healthy();
    }
    let healthy = HEALTHY.replace("content-length", "connection: close\r\ncontent-length");
    assert_eq!(read_to_end(&mut client), healthy);
}

/// Clients of HTTP/1.0 do not know this response (RFC 9110, 10.1.1).
#[test]
fn continue_is_not_sent_to_http10_clients() {
    let server = server(600_000, 600_000);
    let mut probe = Client::http(&server);
    let mut client = Client::http(&server);
    client.assert_healthy();
    client.send("GET /healthz HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n");
    probe.assert_healthy();
    client.send("abc");
    assert_eq!(read_to_end(&mut client), HEALTHY.replace("HTTP/1.1", "HTTP/1.0"));
}

/// The preface of HTTP/2, and then nothing: it takes a connection that others could use.
#[test]
fn an_http2_handshake_times_out() {
    let server = server(200, 200);
    let mut client = Client::http(&server);
    client.stream().set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    client.read_until(|_| false).expect("the connection is closed");
}

/// The client sends nothing after the handshake.
#[test]
fn idle_http2_connections_time_out() {
    let server = server(200, 200);
    let mut client = Client::http(&server);
    client.stream().set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    // Empty settings, and the acknowledgement of the server's settings.
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0");
    client.read_until(|_| false).expect("the connection is closed");
}

/// Its deadline counts from the first byte: sending the bytes one by one gains no time.
#[test]
fn a_preface_in_drops_times_out() {
    let server = server(200, 600_000);
    let mut client = Client::http(&server);
    for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" {
        if client.stream().write_all(&[*byte]).is_err() {
            break;
        }
        sleep(Duration::from_millis(20));
    }
    // A connection of HTTP/2 would begin with settings.
    let read = client.stream().read(&mut [0; 64]);
    assert!(!matches!(read, Ok(1..)), "{read:?}");
}
