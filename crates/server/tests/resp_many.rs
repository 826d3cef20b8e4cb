//! Many clients at once: some stall, some are too many, all share the counts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;

use std::io::{Read as _, Write as _};
use std::thread;
use std::time::Instant;

use support::{Client, affordable, command, policy};
use tollgate_server::{RespLimits, Server};

/// Half of a command, and what is missing.
const HALVES: [(&str, &str); 6] = [
    ("", "PING\r\n"),
    ("*", "1\r\n$4\r\nPING\r\n"),
    ("*1\r\n$4\r\nPI", "NG\r\n"),
    ("*1\r\n$4\r\nPING\r", "\n"),
    ("PIN", "G\r\n"),
    ("*1\r\n$", "4\r\nPING\r\n"),
];

#[test]
fn thousands_who_stall_hold_up_nobody() {
    let server = support::server().start().unwrap();
    let count = affordable(2_000);
    println!("{count} clients stall");
    let mut stalled = Vec::new();
    for number in 0..count {
        stalled.push(Client::of(&server));
        // Those before it have been let in, too: few wait at the door.
        if number % 64 == 0 {
            stalled[number].is_served();
        }
    }
    for (client, (half, _)) in stalled.iter_mut().zip(HALVES.iter().cycle()) {
        client.send(half);
    }
    let mut other = Client::of(&server);
    (0..100).for_each(|_| other.is_served());
    for (client, (_, rest)) in stalled.iter_mut().zip(HALVES.iter().cycle()) {
        assert_eq!(client.ask(rest), "+PONG\r\n");
    }
}

#[test]
fn too_many_are_told_and_the_others_go_on() {
    const REFUSAL: &str = "-ERR max number of clients reached\r\n";
    let mut bounds = RespLimits::default();
    bounds.connections = 10;
    let http = "127.0.0.1:0".parse().unwrap();
    let server = support::server().resp_limits(bounds).http(http).start().unwrap();
    let mut clients: Vec<_> = (0..10).map(|_| Client::of(&server)).collect();
    clients.iter_mut().for_each(Client::is_served);
    for _ in 0..5 {
        assert_eq!(Client::of(&server).rest(), REFUSAL);
    }
    let page = Client::http(&server).get("/metrics").body;
    assert!(page.contains("tollgate_connections_refused_total{protocol=\"resp\"} 5\n"), "{page}");
    clients.iter_mut().for_each(Client::is_served);
    // One leaves politely, one does not.
    assert_eq!(clients.pop().unwrap().ask("QUIT\r\n"), "+OK\r\n");
    drop(clients.pop());
    let start = Instant::now();
    while clients.len() < 10 {
        assert!(start.elapsed() < support::PATIENCE, "no place becomes free");
        let mut client = Client::of(&server);
        let _ = client.stream().write_all(b"PING\r\n");
        let came = client.until(|bytes| bytes.ends_with(b"\r\n")).unwrap();
        match String::from_utf8_lossy(&came).as_ref() {
            "+PONG\r\n" => clients.push(client),
            other => assert!(other == REFUSAL || other.is_empty(), "{other}"),
        }
    }
    assert_eq!(Client::of(&server).rest(), REFUSAL);
    clients.iter_mut().for_each(Client::is_served);
}

/// How many of the answers of so many clients let pass, if each asks so often at once.
fn passed(server: &Server, line: &str, clients: usize, times: usize, yes: &str) -> usize {
    let pipeline = command(line).repeat(times);
    let ask = || {
        let mut client = Client::of(server);
        client.send(&pipeline);
        (0..times).filter(|_| client.reply().starts_with(yes)).count()
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

#[test]
fn two_workers_count_one_key_together() {
    let lines = ["fixed-window 1000/day", "gcra 1/s burst 1000"];
    let policies = ["day", "flow"].into_iter().zip(&lines);
    let server = policies
        .fold(support::server(), |server, (name, line)| server.policy(policy(name, &[line])))
        .policy(policy("both", &lines))
        .threads(2)
        .start()
        .unwrap();
    for (line, yes) in [
        ("TG.CHECK day k", "*5\r\n:1\r\n"),
        ("TG.CHECK flow k", "*5\r\n:1\r\n"),
        ("TG.CHECK both k", "*5\r\n:1\r\n"),
        ("CL.THROTTLE k 999 1 1", "*5\r\n:0\r\n"),
    ] {
        assert_eq!(passed(&server, line, 100, 20, yes), 1_000, "{line}");
    }
}

#[test]
fn stopping_closes_whoever_is_there() {
    let server = support::server().threads(2).start().unwrap();
    let mut clients: Vec<_> = (0..50).map(|_| Client::of(&server)).collect();
    for (client, (half, _)) in clients.iter_mut().zip(HALVES.iter().cycle()) {
        client.is_served();
        client.send(half);
    }
    server.stop();
    for client in &mut clients {
        assert_eq!(client.rest(), "");
    }
}

#[test]
fn stopping_does_not_wait_for_whoever_does_not_read() {
    let server = support::server().start().unwrap();
    let mut client = Client::of(&server);
    let mut writer = client.stream().try_clone().unwrap();
    let some = command("CL.THROTTLE k 999999 1000000 1").repeat(1_000);
    let flood = thread::spawn(move || while writer.write_all(&some).is_ok() {});
    Client::of(&server).is_served();
    server.stop();
    flood.join().unwrap();
    drop(client);
}

#[test]
fn a_pipeline_is_answered_at_once() {
    let server = support::server().start().unwrap();
    let mut client = Client::of(&server);
    client.is_served();
    let expected = "+PONG\r\n".repeat(64);
    client.send(command("PING").repeat(64));
    let (mut came, mut reads, mut buffer) = (Vec::new(), 0, [0; 4096]);
    while came.len() < expected.len() {
        let count = client.stream().read(&mut buffer).unwrap();
        assert!(count > 0, "closed");
        came.extend(&buffer[..count]);
        reads += 1;
    }
    assert_eq!(String::from_utf8(came).unwrap(), expected);
    assert!(reads <= 4, "{reads} reads");
}
