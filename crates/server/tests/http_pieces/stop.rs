//! What becomes of requests when the server stops.

use std::thread;

use crate::support::http::{self, HEALTHZ, get, post};
use crate::support::{Client, slow};

#[test]
fn what_is_in_flight_is_finished() {
    let (server, is_asked, allow) = slow::server();
    let mut client = Client::http(&server);
    let mut idle = Client::http(&server);
    idle.is_healthy();
    let pipeline = [post("/v1/check", "{\"key\":\"a\"}"), get("/check?key=a"), HEALTHZ.into()];
    client.send(pipeline.concat());
    is_asked.recv().unwrap();
    let stopping = thread::spawn(move || server.stop());
    // Who is at nothing is left at once, so that it has begun to stop.
    assert_eq!(idle.rest(), "");
    allow.send(()).unwrap();
    assert_eq!(client.answer().told(), (true, Some(5), Some(4)));
    assert_eq!(client.answer().field("ratelimit"), Some("\"default\";r=3;t=2"));
    let last = client.answer();
    // Nobody may think that more will be answered.
    assert_eq!((last.body.as_str(), last.field("connection")), ("ok\n", Some("close")));
    assert_eq!(client.rest(), "");
    stopping.join().unwrap();
}

/// Half a request does not hold up the end, and nobody is answered twice.
#[test]
fn nobody_holds_up_the_end() {
    let server = http::server().start().unwrap();
    let mut clients: Vec<_> = (0..20).map(|_| Client::http(&server)).collect();
    for client in &mut clients {
        client.send(format!("{HEALTHZ}GET /heal"));
        assert_eq!(client.answer().status, 200);
    }
    let address = server.http().unwrap();
    server.stop();
    for client in &mut clients {
        assert_eq!(client.rest(), "");
    }
    assert!(std::net::TcpStream::connect(address).is_err());
}
