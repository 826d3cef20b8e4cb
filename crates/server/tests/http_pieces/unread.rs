//! Clients that do not read what they are sent.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tollgate_server::HttpLimits;

use crate::support::http::{HEALTHZ, get, server};
use crate::support::{Client, PATIENCE};

/// Either all is answered, or whoever does not read is left in the end. Nobody else waits for it.
#[test]
fn who_never_reads_is_left() {
    let mut bounds = HttpLimits::default();
    bounds.timeout = Duration::from_millis(100);
    let server = server().http_limits(bounds).start().unwrap();
    let (mut client, mut other) = (Client::http(&server), Client::http(&server));
    let mut writer = client.stream().try_clone().unwrap();
    let some = HEALTHZ.repeat(1_000);
    let flood = thread::spawn(move || while writer.write_all(some.as_bytes()).is_ok() {});
    while !flood.is_finished() {
        other.is_healthy();
    }
    flood.join().unwrap();
    other.is_healthy();
    assert!(client.until(|_| false).unwrap().starts_with(b"HTTP/1.1 200 OK\r\n"));
}

/// As above, and its last request is cut off as well.
#[test]
fn who_never_reads_and_sends_only_half_is_left() {
    let mut bounds = HttpLimits::default();
    bounds.timeout = Duration::from_millis(200);
    // So that what is unread is certain to be more than the system keeps, and less than this.
    bounds.max_pending_bytes = 1 << 26;
    let server = server().http_limits(bounds).start().unwrap();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(1 << 12).unwrap();
    socket.connect(&server.http().unwrap().into()).unwrap();
    let mut client = TcpStream::from(socket);
    client.write_all((get("/openapi.json").repeat(500) + "GET /half").as_bytes()).unwrap();
    let mut other = Client::http(&server);
    for _ in 0..100 {
        other.is_healthy();
        thread::sleep(Duration::from_millis(20));
    }
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut came = Vec::new();
    let _ = client.read_to_end(&mut came);
    // Once it was told again and again, and all of that was kept for it.
    let told = String::from_utf8_lossy(&came).matches("HTTP/1.1 408 ").count();
    assert!(told <= 1, "it is told {told} times that it is late");
}
