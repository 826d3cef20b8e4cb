//! More clients than there are file descriptors.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use support::Serving;

/// How many file descriptors the server may have.
const DESCRIPTORS: usize = 64;

/// A server that may have no more of them, however much it asks.
fn poor() -> Serving {
    let mut shell = Command::new("sh");
    let script = format!("ulimit -n {DESCRIPTORS} && exec \"$0\" \"$@\"");
    shell.args(["-c", &script]).arg(cargo_bin!("tollgate"));
    Serving::run(shell, &["--log-level", "off"])
}

fn is_served(stream: &mut TcpStream) {
    stream.write_all(b"PING\r\n").unwrap();
    let mut answer = [0; 7];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+PONG\r\n");
}

fn is_served_over_http(stream: &mut TcpStream) {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = [0; 512];
    let length = stream.read(&mut answer).unwrap();
    assert!(answer[..length].starts_with(b"HTTP/1.1 200 OK\r\n"));
}

#[test]
fn a_full_table_leaves_others_served() {
    let serving = poor();
    let mut early = serving.resp();
    let mut web = TcpStream::connect(serving.http()).unwrap();
    is_served(&mut early);
    is_served_over_http(&mut web);
    // The kernel accepts for it; the server finds no descriptors for most of them.
    let mut crowd: Vec<TcpStream> = (0..3 * DESCRIPTORS).map(|_| serving.resp()).collect();
    // These were let in, so that now there are none left.
    for one in crowd.iter_mut().take(DESCRIPTORS / 4) {
        is_served(one);
    }
    for _ in 0..100 {
        is_served(&mut early);
        is_served_over_http(&mut web);
    }
    drop(crowd);
    // When they have left, whoever comes is served again.
    is_served(&mut serving.resp());
    is_served_over_http(&mut TcpStream::connect(serving.http()).unwrap());
}
