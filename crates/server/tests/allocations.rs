//! The server allocates memory only for bytes that have arrived, never for lengths that a client announces.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_server::Server;

/// Maximum size of an allocation before as many bytes have arrived.
const MAX_ALLOCATION: usize = 64 * 1024;

/// The largest allocation so far.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// Number of bytes in use.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Tests that measure memory run one at a time.
static EXCLUSIVE: Mutex<()> = Mutex::new(());

struct CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[allow(
    unsafe_code,
    reason = "only an allocator sees allocations; every call is passed on unchanged"
)]
// SAFETY: every call is passed to the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        LIVE.fetch_add(size, Ordering::Relaxed);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Input that announces more bytes than it contains.
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
fn announced_lengths_allocate_nothing() {
    let _exclusive = EXCLUSIVE.lock().unwrap();
    let localhost = || "127.0.0.1:0".parse().unwrap();
    let server = Server::builder().resp(localhost()).http(localhost()).threads(1).start().unwrap();
    let [resp, http] = [server.resp(), server.http()].map(Option::unwrap);
    let connect = |address| TcpStream::connect(address).unwrap();
    // After these replies all that a server allocates anyway is there.
    let mut probes =
        [(connect(resp), "PING\r\n"), (connect(http), "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")];
    let probe_all = |probes: &mut [(TcpStream, &str)]| {
        for (stream, probe) in probes {
            stream.write_all(probe.as_bytes()).unwrap();
            assert!(stream.read(&mut [0; 512]).unwrap() > 0);
        }
    };
    probe_all(&mut probes);
    LARGEST.store(0, Ordering::Relaxed);
    let mut held = Vec::new();
    let all = RESP.map(|text| (resp, text)).into_iter().chain(HTTP.map(|text| (http, text)));
    for (address, text) in all {
        let mut stream = connect(address);
        stream.write_all(text.as_bytes()).unwrap();
        held.push(stream);
        // There is one worker: once it has replied to the probes, it has read the text.
        probe_all(&mut probes);
        let largest = LARGEST.swap(0, Ordering::Relaxed);
        assert!(largest <= MAX_ALLOCATION, "{text:?}: {largest} bytes at once");
    }
}

/// The memory for a command is freed once it is executed, however long the connection stays open.
#[test]
fn idle_connections_keep_no_memory() {
    const CLIENTS: usize = 50;
    let _exclusive = EXCLUSIVE.lock().unwrap();
    let localhost = "127.0.0.1:0".parse().unwrap();
    let server = Server::builder().resp(localhost).threads(1).start().unwrap();
    let mut clients: Vec<_> =
        (0..CLIENTS).map(|_| TcpStream::connect(server.resp().unwrap()).unwrap()).collect();
    let mut used = [0; 2];
    for (turn, used) in used.iter_mut().enumerate() {
        // In the second round they send a command of sixty thousand bytes, in two halves.
        let arg = format!("$4000\r\n{}\r\n", "x".repeat(4_000));
        let command = ["PING\r\n".to_owned(), format!("*15\r\n{}", arg.repeat(15))];
        let (half, rest) = command[turn].split_at(command[turn].len() / 2);
        for part in [half, rest] {
            clients.iter_mut().for_each(|client| client.write_all(part.as_bytes()).unwrap());
        }
        for client in &mut clients {
            let mut reply = [0; 4_096];
            assert!(client.read(&mut reply).unwrap() > 0);
        }
        *used = LIVE.load(Ordering::Relaxed);
    }
    let [before, after] = used;
    let more = after.saturating_sub(before);
    assert!(more < CLIENTS * 8 * 1024, "{more} bytes for {CLIENTS} idle connections");
}
