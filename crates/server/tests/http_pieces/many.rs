//! Many clients at once: some stall, some are too many.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Instant;

use socket2::{Domain, Socket, Type};
use tollgate_server::HttpLimits;

use crate::support::http::{HEALTHY, HEALTHZ, get, server, undated};
use crate::support::{Client, PATIENCE, affordable, policy};

/// Half of a request, and what is missing.
const HALVES: [(&str, &str); 6] = [
    ("", HEALTHZ),
    ("G", "ET /healthz HTTP/1.1\r\nhost: t\r\n\r\n"),
    ("GET /healthz HTTP/1.1\r\nho", "st: t\r\n\r\n"),
    ("GET /healthz HTTP/1.1\r\nhost: t\r\n\r", "\n"),
    ("GET /healthz HTTP/1.1\r\nhost: t\r\ncontent-length: 3\r\n\r\nab", "c"),
    ("GET /healthz HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n", "0\r\n\r\n"),
];

#[test]
fn thousands_who_stall_hold_up_nobody() {
    let mut bounds = HttpLimits::default();
    bounds.timeout = PATIENCE;
    let server = server().http_limits(bounds).start().unwrap();
    let count = affordable(2_000);
    println!("{count} clients stall");
    let mut stalled = Vec::new();
    for number in 0..count {
        let mut client = Client::http(&server);
        // Those before it have been let in, too: few wait at the door.
        if number % 64 == 0 {
            client.is_healthy();
        }
        stalled.push(client);
    }
    for (client, (half, _)) in stalled.iter_mut().zip(HALVES.iter().cycle()) {
        client.send(half);
    }
    let mut other = Client::http(&server);
    (0..100).for_each(|_| other.is_healthy());
    for (client, (_, rest)) in stalled.iter_mut().zip(HALVES.iter().cycle()) {
        client.send(rest);
        assert_eq!(client.answer().status, 200);
    }
}

const REFUSAL: &str =
    "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

#[test]
fn too_many_are_told_and_the_others_go_on() {
    let mut bounds = HttpLimits::default();
    bounds.connections = 10;
    let server = server().http_limits(bounds).start().unwrap();
    let mut clients: Vec<_> = (0..10).map(|_| Client::http(&server)).collect();
    clients.iter_mut().for_each(Client::is_healthy);
    for _ in 0..5 {
        assert_eq!(Client::http(&server).rest(), REFUSAL);
    }
    clients.iter_mut().for_each(Client::is_healthy);
    // The other protocol has places of its own.
    Client::of(&server).is_served();
    // One leaves politely, one does not.
    let mut polite = clients.pop().unwrap();
    polite.send("GET /healthz HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
    assert!(polite.rest().ends_with("ok\n"));
    drop(clients.pop());
    let begin = Instant::now();
    while clients.len() < 10 {
        assert!(begin.elapsed() < PATIENCE, "no place becomes free");
        let mut client = Client::http(&server);
        let _ = client.stream().write_all(HEALTHZ.as_bytes());
        let came = client.until(|bytes| bytes.ends_with(b"ok\n")).unwrap();
        match String::from_utf8_lossy(&undated(&came)).as_ref() {
            HEALTHY => clients.push(client),
            other => assert!(other == REFUSAL || other.is_empty(), "{other}"),
        }
    }
    assert_eq!(Client::http(&server).rest(), REFUSAL);
    clients.iter_mut().for_each(Client::is_healthy);
}

#[test]
fn many_at_once_pass_exactly_as_many_as_may() {
    let lines = ["fixed-window 1000/h"];
    let clock = tollgate::Clock::manual();
    let store = tollgate::MemoryStore::builder().clock(clock).build().unwrap();
    let builder = tollgate_server::Server::builder().memory(store).threads(4);
    let builder = builder.http("127.0.0.1:0".parse().unwrap());
    let server = builder.policy(policy("default", &lines)).start().unwrap();
    let pipeline = get("/check?key=hot").repeat(100);
    let passed = || {
        let mut client = Client::http(&server);
        client.send(&pipeline);
        (0..100).filter(|_| client.answer().status == 200).count()
    };
    let passed: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..32).map(|_| scope.spawn(passed)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(passed, 1_000);
}

/// One who comes too often leaves room for others.
#[test]
fn one_peer_has_not_all_places() {
    let mut bounds = HttpLimits::default();
    bounds.peer_connections = 3;
    let server = server().http_limits(bounds).start().unwrap();
    let mut clients: Vec<_> = (0..3).map(|_| Client::http(&server)).collect();
    clients.iter_mut().for_each(Client::is_healthy);
    assert_eq!(Client::http(&server).rest(), REFUSAL);
    // From elsewhere, as far as the server can tell.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let other: SocketAddr = "127.0.0.2:0".parse().unwrap();
    if socket.bind(&other.into()).is_ok() {
        socket.connect(&server.http().unwrap().into()).unwrap();
        let mut stream = TcpStream::from(socket);
        stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
        let mut came = String::new();
        stream.read_to_string(&mut came).unwrap();
        assert!(came.ends_with("ok\n"), "{came}");
    }
    clients.iter_mut().for_each(Client::is_healthy);
}
