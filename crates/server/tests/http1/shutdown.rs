//! Requests while the server stops.

use std::thread;

use crate::support::http::{self, HEALTHZ, get, post};
use crate::support::{Client, slow};

#[test]
fn requests_in_flight_are_finished() {
    let (server, called, resume) = slow::server();
    let mut client = Client::http(&server);
    let mut idle = Client::http(&server);
    idle.assert_healthy();
    let pipeline = [post("/v1/check", "{\"key\":\"a\"}"), get("/check?key=a"), HEALTHZ.into()];
    client.send(pipeline.concat());
    called.recv().unwrap();
    let stopping = thread::spawn(move || server.stop());
    // An idle connection is closed at once, so the server has begun to stop.
    assert_eq!(idle.read_to_end(), "");
    resume.send(()).unwrap();
    assert_eq!(client.response().decision(), (true, Some(5), Some(4)));
    assert_eq!(client.response().header("ratelimit"), Some("\"default\";r=3;t=2"));
    let last = client.response();
    // The client must not expect more responses.
    assert_eq!((last.body.as_str(), last.header("connection")), ("ok\n", Some("close")));
    assert_eq!(client.read_to_end(), "");
    stopping.join().unwrap();
}

/// An incomplete request does not delay the shutdown, and gets no response.
#[test]
fn incomplete_requests_do_not_delay_the_shutdown() {
    let server = http::server().start().unwrap();
    let mut clients: Vec<_> = (0..20).map(|_| Client::http(&server)).collect();
    for client in &mut clients {
        client.send(format!("{HEALTHZ}GET /heal"));
        assert_eq!(client.response().status, 200);
    }
    let address = server.http().unwrap();
    server.stop();
    for client in &mut clients {
        assert_eq!(client.read_to_end(), "");
    }
    assert!(std::net::TcpStream::connect(address).is_err());
}
