//! Clients that take their time.

use std::thread::sleep;
use std::time::{Duration, Instant};

use tollgate_server::{HttpLimits, Server};

use crate::support::Client;
use crate::support::http::{self, HEALTHY, HEALTHZ, undated};

const LATE: &str = "HTTP/1.1 408 Request Timeout\r\ncontent-type: application/problem+json\r\n\
                    content-length: 117\r\nconnection: close\r\n\r\n\
                    {\"type\":\"about:blank\",\"title\":\"Request Timeout\",\"status\":408,\
                    \"detail\":\"the rest of the request did not come in time\"}";

/// Half a request has little time, or silence between two has.
fn server(timeout: u64, idle: u64) -> Server {
    let mut bounds = HttpLimits::default();
    bounds.timeout = Duration::from_millis(timeout);
    bounds.idle = Duration::from_millis(idle);
    http::server().http_limits(bounds).start().unwrap()
}

/// All that comes until it is closed.
fn rest(client: &mut Client) -> String {
    String::from_utf8(undated(&client.until(|_| false).unwrap())).unwrap()
}

#[test]
fn half_a_request_has_its_time() {
    let server = server(200, 600_000);
    let head = "POST /v1/check HTTP/1.1\r\nhost: t\r\n";
    let halves = [
        "G".to_owned(),
        "GET /healthz HTTP/1.1\r\nhost: t\r\n".into(),
        "GET /healthz HTTP/1.1\r\nhost: t\r\n\r".into(),
        format!("{head}content-length: 5\r\n\r\n"),
        format!("{head}content-length: 5\r\n\r\nabcd"),
        format!("{head}transfer-encoding: chunked\r\n\r\n"),
        format!("{head}transfer-encoding: chunked\r\n\r\n5\r\nabc"),
        format!("{head}transfer-encoding: chunked\r\n\r\n0\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n".into(),
    ];
    let mut clients = halves.map(|half| {
        let mut client = Client::http(&server);
        client.send(&half);
        (client, half)
    });
    for (client, half) in &mut clients {
        assert_eq!(rest(client), LATE, "{half:?}");
    }
    let mut client = Client::http(&server);
    client.send(format!("{HEALTHZ}GET /heal"));
    assert_eq!(rest(&mut client), format!("{HEALTHY}{LATE}"));
}

/// It is the whole request that has so long, not each of its bytes.
#[test]
fn whoever_sends_byte_by_byte_has_no_more_time() {
    let server = server(300, 600_000);
    let mut client = Client::http(&server);
    client.stream().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let (begin, mut came) = (Instant::now(), Vec::new());
    client.send("GET /healthz HTTP/1.1\r\n");
    while came.is_empty() {
        assert!(begin.elapsed() < crate::support::PATIENCE, "nobody is cut off");
        client.send("x: y\r\n");
        came = client.until(|bytes| !bytes.is_empty()).unwrap_or_default();
    }
    assert_eq!(String::from_utf8(undated(&came)).unwrap(), LATE);
}

#[test]
fn silence_between_requests_has_its_time() {
    let server = server(600_000, 100);
    let mut said_something = Client::http(&server);
    said_something.is_healthy();
    let mut said_nothing = Client::http(&server);
    assert_eq!(rest(&mut said_something), "");
    assert_eq!(rest(&mut said_nothing), "");
}

#[test]
fn whoever_asks_is_not_silent() {
    let server = server(600_000, 50);
    let mut client = Client::http(&server);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(500) {
        client.is_healthy();
    }
}

/// Some send an empty line after a body. It is no request, and no half of one (RFC 9112, 2.2).
#[test]
fn an_empty_line_begins_nothing() {
    let server = server(100, 600_000);
    let mut client = Client::http(&server);
    client.send(format!("{HEALTHZ}\r\n"));
    assert_eq!(client.answer().status, 200);
    sleep(Duration::from_millis(500));
    client.is_healthy();
}

/// Who has been told to go on once need not be told again.
#[test]
fn whoever_waits_to_go_on_is_told_once() {
    let server = server(600_000, 600_000);
    let mut bell = Client::http(&server);
    let mut client = Client::http(&server);
    client.send(format!(
        "{HEALTHZ}GET /healthz HTTP/1.1\r\nhost: t\r\nexpect: 100-continue\r\nconnection: close\r\n\
         content-length: 9\r\n\r\n"
    ));
    assert_eq!(client.answer().status, 200);
    let told = client.until(|bytes| bytes.ends_with(b"\r\n\r\n")).unwrap();
    assert_eq!(String::from_utf8(told).unwrap(), "HTTP/1.1 100 Continue\r\n\r\n");
    for piece in ["abc", "def", "ghi"] {
        client.send(piece);
        bell.is_healthy();
    }
    let healthy = HEALTHY.replace("no-store\r\n", "no-store\r\nconnection: close\r\n");
    assert_eq!(rest(&mut client), healthy);
}

/// Such clients do not know the answer (RFC 9110, 10.1.1).
#[test]
fn an_old_client_is_not_told_to_go_on() {
    let server = server(600_000, 600_000);
    let mut bell = Client::http(&server);
    let mut client = Client::http(&server);
    client.is_healthy();
    client.send("GET /healthz HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n");
    bell.is_healthy();
    client.send("abc");
    let healthy = HEALTHY.replace("no-store\r\n", "no-store\r\nconnection: close\r\n");
    assert_eq!(rest(&mut client), healthy);
}

/// The preface of HTTP/2, and then nothing: it holds a place that others could have.
#[test]
fn whoever_begins_with_http_two_has_no_more_time() {
    let server = server(200, 200);
    let mut client = Client::http(&server);
    client.stream().set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    client.until(|_| false).expect("it is closed");
}

/// The same after a handshake: the client says nothing more.
#[test]
fn silence_on_http_two_has_its_time() {
    let server = server(200, 200);
    let mut client = Client::http(&server);
    client.stream().set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    // No settings, and theirs are understood.
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0");
    client.until(|_| false).expect("it is closed");
}
