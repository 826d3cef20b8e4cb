//! The server allocates memory only for bytes that have arrived, never for lengths that a client announces, and
//! little of it for a check.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tollgate_core::{Name, Policy};
use tollgate_fixtures::CountingAllocator;
use tollgate_server::{HttpLimits, Server};

/// Maximum size of an allocation before as many bytes have arrived.
const MAX_ALLOCATION: usize = 64 * 1024;

/// Tests that measure memory run one at a time.
static EXCLUSIVE: Mutex<()> = Mutex::new(());

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

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
    CountingAllocator::take_largest();
    let mut held = Vec::new();
    let all = RESP.map(|text| (resp, text)).into_iter().chain(HTTP.map(|text| (http, text)));
    for (address, text) in all {
        let mut stream = connect(address);
        stream.write_all(text.as_bytes()).unwrap();
        held.push(stream);
        // There is one worker: once it has replied to the probes, it has read the text.
        probe_all(&mut probes);
        let largest = CountingAllocator::take_largest();
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
        *used = CountingAllocator::live();
    }
    let [before, after] = used;
    let more = after.saturating_sub(before);
    assert!(more < CLIENTS * 8 * 1024, "{more} bytes for {CLIENTS} idle connections");
}

fn http_server(timeout: Duration) -> Server {
    let mut limits = HttpLimits::default();
    limits.timeout = timeout;
    let policy = Policy::parse(Name::default(), ["gcra 10/s burst 20"]).unwrap();
    let builder = Server::builder().http("127.0.0.1:0".parse().unwrap()).threads(1);
    builder.http_limits(limits).policy(policy).start().unwrap()
}

/// Sends a request, and reads its response in one or more pieces.
fn round_trip(client: &mut TcpStream, request: &[u8], buffer: &mut [u8]) {
    client.write_all(request).unwrap();
    let (mut filled, mut end) = (0, None);
    while end.is_none_or(|end| filled < end) {
        let count = client.read(buffer.get_mut(filled..).unwrap()).unwrap();
        assert!(count > 0, "closed");
        filled += count;
        let head = std::str::from_utf8(buffer.get(..filled).unwrap()).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        end = head.split_once("\r\n\r\n").map(|(head, _)| {
            let length = head.split_once("content-length: ").unwrap().1;
            let length = length.split("\r\n").next().unwrap();
            head.len() + 4 + length.parse::<usize>().unwrap()
        });
    }
}

fn check(body: &str) -> Vec<u8> {
    let head = "POST /v1/peek HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into()
}

/// hyper's buffers grow to a bound, and are freed when nothing has happened for one or two timeouts.
#[test]
fn quiet_http_connections_keep_no_buffers() {
    const CLIENTS: usize = 50;
    let _exclusive = EXCLUSIVE.lock().unwrap();
    let server = http_server(Duration::from_secs(1));
    let address = server.http().unwrap();
    let mut buffer = vec![0; 1 << 20];
    let mut probe = TcpStream::connect(address).unwrap();
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| TcpStream::connect(address).unwrap()).collect();
    let (page, large) = (
        b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n",
        check(&format!("{{\"key\":\"k\"{}}}", " ".repeat(65_000))),
    );
    // Now all connections are accepted, and the server has all that it allocates only once.
    round_trip(&mut probe, &large, &mut buffer);
    round_trip(&mut probe, page, &mut buffer);
    let before = CountingAllocator::live();
    for client in &mut clients {
        round_trip(client, &large, &mut buffer);
        round_trip(client, page, &mut buffer);
    }
    let more = || CountingAllocator::live().saturating_sub(before);
    println!("{} bytes for each connection in use", more() / CLIENTS);
    assert!(more() < CLIENTS * 64 * 1024, "{} bytes for {CLIENTS} connections", more());
    let begin = Instant::now();
    while more() > CLIENTS * 1024 {
        assert!(begin.elapsed() < Duration::from_secs(120), "{} bytes are kept", more());
        sleep(Duration::from_millis(10));
    }
    println!("{} bytes for each quiet connection", more() / CLIENTS);
    clients.iter_mut().for_each(|client| round_trip(client, page, &mut buffer));
}

/// What is allocated for each check: hyper's channel for the body, the text of the response, the values of its two rate
/// limit headers, and what they are written into.
#[test]
fn a_check_over_http_allocates_little() {
    const CHECKS: usize = 1_000;
    let _exclusive = EXCLUSIVE.lock().unwrap();
    let server = http_server(Duration::from_secs(3_600));
    let mut client = TcpStream::connect(server.http().unwrap()).unwrap();
    let (request, mut buffer) = (check("{\"key\":\"user-42\"}"), vec![0; 4_096]);
    (0..100).for_each(|_| round_trip(&mut client, &request, &mut buffer));
    let before = CountingAllocator::total();
    (0..CHECKS).for_each(|_| round_trip(&mut client, &request, &mut buffer));
    let count = CountingAllocator::total() - before;
    println!("{count} allocations in {CHECKS} checks");
    assert!(count <= 6 * CHECKS + 10, "{count} allocations in {CHECKS} checks");
}
