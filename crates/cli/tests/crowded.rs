//! More clients than there are file descriptors.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use support::Serving;

/// Number of file descriptors that the server may use.
const DESCRIPTORS: usize = 64;

/// Starts a server with a hard limit of file descriptors.
fn serving_with_few_descriptors() -> Serving {
    let mut shell = Command::new("sh");
    let script = format!("ulimit -n {DESCRIPTORS} && exec \"$0\" \"$@\"");
    shell.args(["-c", &script]).arg(cargo_bin!("tollgate"));
    Serving::run(shell, &["--log-level", "off"])
}

fn is_served(stream: &mut TcpStream) {
    stream.write_all(b"PING\r\n").unwrap();
    let mut reply = [0; 7];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"+PONG\r\n");
}

fn is_served_over_http(stream: &mut TcpStream) {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut response = [0; 512];
    let length = stream.read(&mut response).unwrap();
    assert!(response[..length].starts_with(b"HTTP/1.1 200 OK\r\n"));
}

#[test]
fn open_connections_are_served_when_descriptors_run_out() {
    let serving = serving_with_few_descriptors();
    let mut early = serving.resp();
    let mut web = TcpStream::connect(serving.http()).unwrap();
    is_served(&mut early);
    is_served_over_http(&mut web);
    // The kernel completes the handshakes; the server has no descriptors for most of them.
    let mut crowd: Vec<TcpStream> = (0..3 * DESCRIPTORS).map(|_| serving.resp()).collect();
    // These are accepted, so that now no descriptors are left.
    for client in crowd.iter_mut().take(DESCRIPTORS / 4) {
        is_served(client);
    }
    for _ in 0..100 {
        is_served(&mut early);
        is_served_over_http(&mut web);
    }
    drop(crowd);
    // When they have left, new clients are served again.
    is_served(&mut serving.resp());
    is_served_over_http(&mut TcpStream::connect(serving.http()).unwrap());
}
