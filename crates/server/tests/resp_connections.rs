//! Many clients at once, connection limits and shutdown.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;

use std::io::{Read as _, Write as _};
use std::thread;
use std::time::Instant;

use support::{Client, command, max_clients, policy};
use tollgate_server::{RespLimits, Server};

/// The first part of a command, and the rest.
const HALVES: [(&str, &str); 6] = [
    ("", "PING\r\n"),
    ("*", "1\r\n$4\r\nPING\r\n"),
    ("*1\r\n$4\r\nPI", "NG\r\n"),
    ("*1\r\n$4\r\nPING\r", "\n"),
    ("PIN", "G\r\n"),
    ("*1\r\n$", "4\r\nPING\r\n"),
];

#[test]
fn thousands_of_stalled_clients_do_not_block_others() {
    let server = support::server().start().unwrap();
    let count = max_clients(2_000);
    println!("{count} clients stall");
    let mut stalled = Vec::new();
    for number in 0..count {
        stalled.push(Client::resp(&server));
        // Wait until the connections so far are accepted: the listen backlog is short.
        if number % 64 == 0 {
            stalled[number].assert_served();
        }
    }
    for (client, (half, _)) in stalled.iter_mut().zip(HALVES.iter().cycle()) {
        client.send(half);
    }
    let mut other = Client::resp(&server);
    (0..100).for_each(|_| other.assert_served());
    for (client, (_, rest)) in stalled.iter_mut().zip(HALVES.iter().cycle()) {
        assert_eq!(client.request(rest), "+PONG\r\n");
    }
}

#[test]
fn connections_beyond_the_limit_are_refused_and_the_others_go_on() {
    const REFUSAL: &str = "-ERR max number of clients reached\r\n";
    let mut limits = RespLimits::default();
    limits.connections = 10;
    let http = "127.0.0.1:0".parse().unwrap();
    let server = support::server().resp_limits(limits).http(http).start().unwrap();
    let mut clients: Vec<_> = (0..10).map(|_| Client::resp(&server)).collect();
    clients.iter_mut().for_each(Client::assert_served);
    for _ in 0..5 {
        assert_eq!(Client::resp(&server).read_to_end(), REFUSAL);
    }
    let page = Client::http(&server).get("/metrics").body;
    assert!(page.contains("tollgate_connections_refused_total{protocol=\"resp\"} 5\n"), "{page}");
    clients.iter_mut().for_each(Client::assert_served);
    // One closes properly, one just drops its connection.
    assert_eq!(clients.pop().unwrap().request("QUIT\r\n"), "+OK\r\n");
    drop(clients.pop());
    let start = Instant::now();
    while clients.len() < 10 {
        assert!(start.elapsed() < support::TIMEOUT, "no connection becomes free");
        let mut client = Client::resp(&server);
        let _ = client.stream().write_all(b"PING\r\n");
        let received = client.read_until(|bytes| bytes.ends_with(b"\r\n")).unwrap();
        match String::from_utf8_lossy(&received).as_ref() {
            "+PONG\r\n" => clients.push(client),
            other => assert!(other == REFUSAL || other.is_empty(), "{other}"),
        }
    }
    assert_eq!(Client::resp(&server).read_to_end(), REFUSAL);
    clients.iter_mut().for_each(Client::assert_served);
}

/// Sends a command `times` times on each of `clients` connections at once. Returns how many replies start with
/// `allowed`.
fn count_allowed(
    server: &Server,
    line: &str,
    clients: usize,
    times: usize,
    allowed: &str,
) -> usize {
    let pipeline = command(line).repeat(times);
    let run = || {
        let mut client = Client::resp(server);
        client.send(&pipeline);
        (0..times).filter(|_| client.reply().starts_with(allowed)).count()
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

#[test]
fn two_workers_share_the_counts() {
    let lines = ["fixed-window 1000/day", "gcra 1/s burst 1000"];
    let policies = ["day", "flow"].into_iter().zip(&lines);
    let server = policies
        .fold(support::server(), |server, (name, line)| server.policy(policy(name, &[line])))
        .policy(policy("both", &lines))
        .threads(2)
        .start()
        .unwrap();
    for (line, allowed) in [
        ("TG.CHECK day k", "*5\r\n:1\r\n"),
        ("TG.CHECK flow k", "*5\r\n:1\r\n"),
        ("TG.CHECK both k", "*5\r\n:1\r\n"),
        ("CL.THROTTLE k 999 1 1", "*5\r\n:0\r\n"),
    ] {
        assert_eq!(count_allowed(&server, line, 100, 20, allowed), 1_000, "{line}");
    }
}

#[test]
fn shutdown_closes_all_connections() {
    let server = support::server().threads(2).start().unwrap();
    let mut clients: Vec<_> = (0..50).map(|_| Client::resp(&server)).collect();
    for (client, (half, _)) in clients.iter_mut().zip(HALVES.iter().cycle()) {
        client.assert_served();
        client.send(half);
    }
    server.stop();
    for client in &mut clients {
        assert_eq!(client.read_to_end(), "");
    }
}

#[test]
fn shutdown_does_not_wait_for_clients_that_do_not_read() {
    let server = support::server().start().unwrap();
    let mut client = Client::resp(&server);
    let mut writer = client.stream().try_clone().unwrap();
    let some = command("CL.THROTTLE k 999999 1000000 1").repeat(1_000);
    let flood = thread::spawn(move || while writer.write_all(&some).is_ok() {});
    Client::resp(&server).assert_served();
    server.stop();
    flood.join().unwrap();
    drop(client);
}

#[test]
fn a_pipeline_gets_its_replies_in_few_writes() {
    let server = support::server().start().unwrap();
    let mut client = Client::resp(&server);
    client.assert_served();
    let expected = "+PONG\r\n".repeat(64);
    client.send(command("PING").repeat(64));
    let (mut received, mut reads, mut buffer) = (Vec::new(), 0, [0; 4096]);
    while received.len() < expected.len() {
        let count = client.stream().read(&mut buffer).unwrap();
        assert!(count > 0, "closed");
        received.extend(&buffer[..count]);
        reads += 1;
    }
    assert_eq!(String::from_utf8(received).unwrap(), expected);
    assert!(reads <= 4, "{reads} reads");
}
