//! Many clients at once, and connection limits.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Instant;

use socket2::{Domain, Socket, Type};
use tollgate_server::HttpLimits;

use crate::support::http::{HEALTHY, HEALTHZ, get, server, without_date};
use crate::support::{Client, TIMEOUT, max_clients, policy};

/// The first part of a request, and the rest.
const HALVES: [(&str, &str); 6] = [
    ("", HEALTHZ),
    ("G", "ET /healthz HTTP/1.1\r\nhost: t\r\n\r\n"),
    ("GET /healthz HTTP/1.1\r\nho", "st: t\r\n\r\n"),
    ("GET /healthz HTTP/1.1\r\nhost: t\r\n\r", "\n"),
    ("GET /healthz HTTP/1.1\r\nhost: t\r\ncontent-length: 3\r\n\r\nab", "c"),
    ("GET /healthz HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n", "0\r\n\r\n"),
];

#[test]
fn thousands_of_stalled_clients_do_not_block_others() {
    let mut limits = HttpLimits::default();
    limits.timeout = TIMEOUT;
    let server = server().http_limits(limits).start().unwrap();
    let count = max_clients(2_000);
    println!("{count} clients stall");
    let mut stalled = Vec::new();
    for number in 0..count {
        let mut client = Client::http(&server);
        // Wait until the connections so far are accepted: the listen backlog is short.
        if number % 64 == 0 {
            client.assert_healthy();
        }
        stalled.push(client);
    }
    for (client, (half, _)) in stalled.iter_mut().zip(HALVES.iter().cycle()) {
        client.send(half);
    }
    let mut other = Client::http(&server);
    (0..100).for_each(|_| other.assert_healthy());
    for (client, (_, rest)) in stalled.iter_mut().zip(HALVES.iter().cycle()) {
        client.send(rest);
        assert_eq!(client.response().status, 200);
    }
}

const REFUSAL: &str =
    "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

#[test]
fn connections_beyond_the_limit_are_refused_and_the_others_go_on() {
    let mut limits = HttpLimits::default();
    limits.connections = 10;
    let server = server().http_limits(limits).start().unwrap();
    let mut clients: Vec<_> = (0..10).map(|_| Client::http(&server)).collect();
    clients.iter_mut().for_each(Client::assert_healthy);
    for _ in 0..5 {
        assert_eq!(Client::http(&server).read_to_end(), REFUSAL);
    }
    clients.iter_mut().for_each(Client::assert_healthy);
    // The other protocol has a limit of its own.
    Client::resp(&server).assert_served();
    // One closes properly, one just drops its connection.
    let mut closing = clients.pop().unwrap();
    closing.send("GET /healthz HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
    assert!(closing.read_to_end().ends_with("ok\n"));
    drop(clients.pop());
    let begin = Instant::now();
    while clients.len() < 10 {
        assert!(begin.elapsed() < TIMEOUT, "no connection becomes free");
        let mut client = Client::http(&server);
        let _ = client.stream().write_all(HEALTHZ.as_bytes());
        let received = client.read_until(|bytes| bytes.ends_with(b"ok\n")).unwrap();
        match String::from_utf8_lossy(&without_date(&received)).as_ref() {
            HEALTHY => clients.push(client),
            other => assert!(other == REFUSAL || other.is_empty(), "{other}"),
        }
    }
    assert_eq!(Client::http(&server).read_to_end(), REFUSAL);
    clients.iter_mut().for_each(Client::assert_healthy);
}

#[test]
fn concurrent_checks_never_exceed_the_limit() {
    let lines = ["fixed-window 1000/h"];
    let clock = tollgate::Clock::manual();
    let store = tollgate::MemoryStore::builder().clock(clock).build().unwrap();
    let builder = tollgate_server::Server::builder().memory(store).threads(4);
    let builder = builder.http("127.0.0.1:0".parse().unwrap());
    let server = builder.policy(policy("default", &lines)).start().unwrap();
    let pipeline = get("/check?key=hot").repeat(100);
    let count_allowed = || {
        let mut client = Client::http(&server);
        client.send(&pipeline);
        (0..100).filter(|_| client.response().status == 200).count()
    };
    let allowed: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..32).map(|_| scope.spawn(count_allowed)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(allowed, 1_000);
}

/// A peer at its own limit leaves connections for others.
#[test]
fn one_peer_cannot_take_all_connections() {
    let mut limits = HttpLimits::default();
    limits.peer_connections = 3;
    let server = server().http_limits(limits).start().unwrap();
    let mut clients: Vec<_> = (0..3).map(|_| Client::http(&server)).collect();
    clients.iter_mut().for_each(Client::assert_healthy);
    assert_eq!(Client::http(&server).read_to_end(), REFUSAL);
    // Another peer, as far as the server can tell.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let other: SocketAddr = "127.0.0.2:0".parse().unwrap();
    if socket.bind(&other.into()).is_ok() {
        socket.connect(&server.http().unwrap().into()).unwrap();
        let mut stream = TcpStream::from(socket);
        stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
        let mut received = String::new();
        stream.read_to_string(&mut received).unwrap();
        assert!(received.ends_with("ok\n"), "{received}");
    }
    clients.iter_mut().for_each(Client::assert_healthy);
}
