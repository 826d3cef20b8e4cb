//! Nothing large is allocated on the word of a stranger: only what has arrived is kept.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_server::Server;

/// The most that is allocated at once before as much has come.
const MOST: usize = 64 * 1024;

/// The largest piece of memory that anyone has asked for.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// How much memory is in use.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Whoever watches does so alone.
static ALONE: Mutex<()> = Mutex::new(());

struct Watching;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

#[allow(unsafe_code, reason = "only so can allocations be seen; all of it is handed on as it is")]
// SAFETY: every call is passed to the system's allocator.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        LIVE.fetch_add(size, Ordering::Relaxed);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// What announces more than it brings.
const RESP: [&str; 6] = [
    "*64\r\n$4096\r\n",
    "*64\r\n",
    "*1\r\n$4096\r\nabc",
    "*2147483647\r\n",
    "*1\r\n$2147483647\r\n",
    "SET a",
];
const HTTP: [&str; 6] = [
    "POST /v1/check HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 65536\r\n\r\n{",
    "POST /v1/check HTTP/1.1\r\nhost: x\r\ncontent-length: 18446744073709551615\r\n\r\n",
    "POST /v1/check HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffff\r\n{",
    "POST /v1/check HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\x40\0\x04\0\0\0\0\0",
    "GET /healthz",
];

#[test]
fn what_is_only_announced_takes_no_room() {
    let _alone = ALONE.lock().unwrap();
    let here = || "127.0.0.1:0".parse().unwrap();
    let server = Server::builder().resp(here()).http(here()).threads(1).start().unwrap();
    let [resp, http] = [server.resp(), server.http()].map(Option::unwrap);
    let connect = |address| TcpStream::connect(address).unwrap();
    // What a server has anyway is there by now.
    let mut bells =
        [(connect(resp), "PING\r\n"), (connect(http), "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")];
    let ring = |bells: &mut [(TcpStream, &str)]| {
        for (stream, bell) in bells {
            stream.write_all(bell.as_bytes()).unwrap();
            assert!(stream.read(&mut [0; 512]).unwrap() > 0);
        }
    };
    ring(&mut bells);
    LARGEST.store(0, Ordering::Relaxed);
    let mut held = Vec::new();
    let all = RESP.map(|text| (resp, text)).into_iter().chain(HTTP.map(|text| (http, text)));
    for (address, text) in all {
        let mut stream = connect(address);
        stream.write_all(text.as_bytes()).unwrap();
        held.push(stream);
        // There is one loop: whoever is answered after it knows that it was read.
        ring(&mut bells);
        let largest = LARGEST.swap(0, Ordering::Relaxed);
        assert!(largest <= MOST, "{text:?}: {largest} bytes at once");
    }
}

/// What a command needed is given back when it is answered, however long the connection stays.
#[test]
fn whoever_is_quiet_keeps_no_memory() {
    const CLIENTS: usize = 50;
    let _alone = ALONE.lock().unwrap();
    let here = "127.0.0.1:0".parse().unwrap();
    let server = Server::builder().resp(here).threads(1).start().unwrap();
    let mut clients: Vec<_> =
        (0..CLIENTS).map(|_| TcpStream::connect(server.resp().unwrap()).unwrap()).collect();
    let mut used = [0; 2];
    for (turn, used) in used.iter_mut().enumerate() {
        // The second time they send a command of sixty thousand bytes, first half of it.
        let word = format!("$4000\r\n{}\r\n", "x".repeat(4_000));
        let command = ["PING\r\n".to_owned(), format!("*15\r\n{}", word.repeat(15))];
        let (half, rest) = command[turn].split_at(command[turn].len() / 2);
        for part in [half, rest] {
            clients.iter_mut().for_each(|client| client.write_all(part.as_bytes()).unwrap());
        }
        for client in &mut clients {
            let mut answer = [0; 4_096];
            assert!(client.read(&mut answer).unwrap() > 0);
        }
        *used = LIVE.load(Ordering::Relaxed);
    }
    let [before, after] = used;
    let more = after.saturating_sub(before);
    assert!(more < CLIENTS * 8 * 1024, "{more} bytes for {CLIENTS} quiet connections");
}
