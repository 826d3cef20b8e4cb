//! Requests while the server stops.

use std::thread;
use std::time::Duration;

use tollgate_server::{HttpLimits, Server};

use crate::support::http::{self, HEALTHZ, get, post};
use crate::support::{Client, slow};

/// A server whose clients may take longer than it does to stop.
fn server() -> Server {
    let mut limits = HttpLimits::default();
    limits.timeout = Duration::from_secs(3_600);
    http::server().http_limits(limits).start().unwrap()
}

#[test]
fn requests_in_flight_are_finished() {
    let (server, called, resume) = slow::server();
    let mut client = Client::http(&server);
    let mut idle = Client::http(&server);
    idle.assert_healthy();
    // The second is not begun, and so may be sent again to another server.
    client.send(post("/v1/check", "{\"key\":\"a\"}") + &get("/check?key=a"));
    called.recv().unwrap();
    let stopping = thread::spawn(move || server.stop());
    // An idle connection is closed at once, so the server has begun to stop.
    assert_eq!(idle.read_to_end(), "");
    resume.send(()).unwrap();
    let last = client.response();
    assert_eq!(last.decision(), (true, Some(5), Some(4)));
    // The client must not expect more responses.
    assert_eq!(last.header("connection"), Some("close"));
    assert_eq!(client.read_to_end(), "");
    stopping.join().unwrap();
}

/// An incomplete head does not delay the shutdown, and gets no response.
#[test]
fn incomplete_heads_do_not_delay_the_shutdown() {
    let server = server();
    let mut probe = Client::http(&server);
    let mut clients: Vec<_> = (0..40).map(|_| Client::http(&server)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        if number % 2 == 0 {
            client.send(format!("{HEALTHZ}GET /heal"));
            assert_eq!(client.response().status, 200);
        } else {
            client.send("GET /heal");
        }
    }
    // There is one worker: once it has replied to another connection, it has read the halves.
    probe.assert_healthy();
    let address = server.http().unwrap();
    server.stop();
    for client in &mut clients {
        assert_eq!(client.read_to_end(), "");
    }
    assert!(std::net::TcpStream::connect(address).is_err());
}

/// Nor does an incomplete body, whose client gets a 503.
#[test]
fn incomplete_bodies_are_refused_by_the_shutdown() {
    let server = server();
    let (mut client, mut probe) = (Client::http(&server), Client::http(&server));
    client.send("POST /v1/check HTTP/1.1\r\nhost: t\r\ncontent-length: 5\r\n\r\nabc");
    probe.assert_healthy();
    let stopping = thread::spawn(move || server.stop());
    let response = client.response();
    assert_eq!((response.status, response.header("connection")), (503, Some("close")));
    assert_eq!(response.json()["detail"], "the server is shutting down");
    stopping.join().unwrap();
}
