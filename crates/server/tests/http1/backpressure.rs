//! Clients that do not read their responses.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tollgate_server::HttpLimits;

use crate::support::http::{HEALTHZ, get, server};
use crate::support::{Client, TIMEOUT};

/// Either all replies are sent, or the connection of a client that does not read is closed in the end. Other
/// clients do not wait for it.
#[test]
fn a_client_that_never_reads_is_disconnected() {
    let mut limits = HttpLimits::default();
    limits.timeout = Duration::from_millis(100);
    let server = server().http_limits(limits).start().unwrap();
    let (mut client, mut other) = (Client::http(&server), Client::http(&server));
    let mut writer = client.stream().try_clone().unwrap();
    let some = HEALTHZ.repeat(1_000);
    let flood = thread::spawn(move || while writer.write_all(some.as_bytes()).is_ok() {});
    while !flood.is_finished() {
        other.assert_healthy();
    }
    flood.join().unwrap();
    other.assert_healthy();
    assert!(client.read_until(|_| false).unwrap().starts_with(b"HTTP/1.1 200 OK\r\n"));
}

/// As above, and the last request is incomplete.
#[test]
fn a_client_that_never_reads_and_stops_within_a_request_is_disconnected() {
    let mut limits = HttpLimits::default();
    limits.timeout = Duration::from_millis(200);
    // The unread responses must be more than the socket buffers hold, and less than this.
    limits.max_pending_bytes = 1 << 26;
    let server = server().http_limits(limits).start().unwrap();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(1 << 12).unwrap();
    socket.connect(&server.http().unwrap().into()).unwrap();
    let mut client = TcpStream::from(socket);
    client.write_all((get("/openapi.json").repeat(500) + "GET /half").as_bytes()).unwrap();
    let mut other = Client::http(&server);
    for _ in 0..100 {
        other.assert_healthy();
        thread::sleep(Duration::from_millis(20));
    }
    client.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut received = Vec::new();
    let _ = client.read_to_end(&mut received);
    // Regression: the 408 response was repeated again and again, and all of them were buffered.
    let count = String::from_utf8_lossy(&received).matches("HTTP/1.1 408 ").count();
    assert!(count <= 1, "{count} responses with status 408");
}
