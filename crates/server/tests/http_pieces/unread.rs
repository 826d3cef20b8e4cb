//! Clients that do not read what they are sent.

use std::io::Write as _;
use std::thread;
use std::time::Duration;

use tollgate_server::HttpBounds;

use crate::talk::Client;
use crate::talk::http::{HEALTHZ, get, server};

/// Either all is answered, or whoever does not read is left in the end. Nobody else waits for it.
#[test]
fn who_never_reads_is_left() {
    let mut bounds = HttpBounds::default();
    bounds.patience = Duration::from_millis(100);
    let server = server().http_bounds(bounds).start().unwrap();
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
    let mut bounds = HttpBounds::default();
    bounds.patience = Duration::from_millis(200);
    // So that what is unread is certain to be more than the system keeps, and less than this.
    bounds.unread_bytes = 1 << 26;
    let server = server().http_bounds(bounds).start().unwrap();
    let mut client = Client::http(&server);
    client.send(get("/openapi.json").repeat(500) + "GET /half");
    let mut other = Client::http(&server);
    other.stream().set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    for _ in 0..30 {
        other.send(HEALTHZ);
        if other.until(|bytes| bytes.ends_with(b"ok\n")).is_err() {
            // DEFECT: the loop is busy for good, and takes more and more memory: nothing but the end
            // of the process stops it.
            let _ = std::io::stderr().write_all(b"DEFECT: a loop serves nobody any more\n");
            std::process::abort();
        }
        thread::sleep(Duration::from_millis(20));
    }
}
