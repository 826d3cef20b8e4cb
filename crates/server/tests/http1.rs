//! HTTP/1 connections: requests in pieces, pipelines, slow clients, many clients, and noise.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "http1/backpressure.rs"]
mod backpressure;
#[path = "http1/concurrency.rs"]
mod concurrency;
#[path = "http1/shutdown.rs"]
mod shutdown;
#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;
#[path = "http1/timeouts.rs"]
mod timeouts;

use std::io::Write as _;
use std::net::Shutdown;
use std::sync::OnceLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use support::http::{HEALTHY, HEALTHZ, get, post, without_date};
use support::{Client, policy};
use tollgate_server::{HttpLimits, Server};

fn config(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(1);
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..Default::default() }
}

fn server() -> Server {
    support::http::server()
        .policy(policy("default", &["gcra 1/s burst 50", "fixed-window 100/h"]))
        .policy(policy("login", &["fixed-window 20/h per ip", "gcra 1/s burst 50 per user"]))
        .start()
        .unwrap()
}

/// A request whose body has chunks of these lengths.
fn chunked(json: &str, lengths: &[usize]) -> String {
    let mut sent = "POST /v1/check HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n\
                    transfer-encoding: chunked\r\n\r\n"
        .to_owned();
    let (mut left, mut lengths) = (json, lengths.iter().cycle());
    while !left.is_empty() {
        let (piece, rest) = left.split_at(left.len().min(*lengths.next().unwrap()));
        sent += &format!("{:x};ext=\"y\"\r\n{piece}\r\n", piece.len());
        left = rest;
    }
    sent + "0\r\n\r\n"
}

fn any_request() -> impl Strategy<Value = String> {
    let fixed = select(vec![
        HEALTHZ.to_owned(),
        format!("\r\n{HEALTHZ}"),
        "HEAD /healthz HTTP/1.1\r\nhost: t\r\n\r\n".into(),
        "GET /healthz HTTP/1.1\r\nhost: t\r\ncontent-length: 5\r\n\r\nabcde".into(),
        get("/nowhere"),
        get("/check?key=a"),
        get("/check?key=b&cost=3&deny_status=403"),
        get("/check?policy=login&key.ip=1&key.user=2"),
        get("/v1/policies"),
        post("/v1/check", "{\"key\":\"a\"}"),
        post("/v1/check", "{\"key\":\"a\",\"cost\":40}"),
        post("/v1/peek", "{\"policy\":\"login\",\"keys\":{\"ip\":\"1\",\"user\":\"2\"}}"),
        post("/v1/reset", "{\"key\":\"b\"}"),
        post("/v1/reserve", "{\"key\":\"b\",\"id\":\"x\",\"cost\":5}"),
        post("/v1/settle", "{\"key\":\"b\",\"id\":\"x\",\"cost\":2}"),
        post("/v1/check", "{\"key\":"),
        post("/v1/check/batch", "{\"checks\":[{\"key\":\"a\"},{\"key\":\"b\",\"cost\":2}]}"),
    ]);
    let key = (1_usize..1_000).prop_map(|size| format!("{{\"key\":\"{}\"}}", "k".repeat(size)));
    let long = key.clone().prop_map(|json| post("/v1/check", &json));
    let pieces = (key, vec(1_usize..50, 1..5)).prop_map(|(json, lengths)| chunked(&json, &lengths));
    prop_oneof![12 => fixed, 2 => long, 4 => pieces]
}

/// The last request, valid or not. The server closes the connection after its response, so that all responses
/// have arrived then.
fn last() -> impl Strategy<Value = &'static str> {
    select(vec![
        "GET /healthz HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n",
        "GET /healthz HTTP/1.0\r\n\r\n",
        "GET /healthz HTTP/1.1\r\n\r\n",
        "POST /v1/check HTTP/1.1\r\nhost: t\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na",
        "POST /v1/check HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\nx\r\n",
        "GET /healthz HTTP/1.1\r\nhost: t\r\nx y: z\r\n\r\n",
        "NOT HTTP AT ALL\r\n\r\n",
    ])
}

/// Lengths of pieces, used in a cycle.
fn lengths() -> impl Strategy<Value = Vec<usize>> {
    vec(prop_oneof![1_usize..=3, 1_usize..=40, 1_usize..=2_000], 1..12)
}

fn responses(client: &mut Client) -> String {
    without_date(&client.read_until(|_| false).unwrap()).escape_ascii().to_string()
}

proptest! {
    #![proptest_config(config(100))]

    /// Sends the same bytes to two servers, to one of them in pieces.
    #[test]
    fn pieces_get_the_same_replies_as_the_whole(
        requests in vec(any_request(), 0..20), last in last(), lengths in lengths(),
    ) {
        static SERVERS: OnceLock<[Server; 2]> = OnceLock::new();
        let [one, other] = SERVERS.get_or_init(|| [server(), server()]);
        let mut whole = Client::http(one);
        let [mut pieces, mut probe] = [(); 2].map(|()| Client::http(other));
        whole.assert_healthy();
        pieces.assert_healthy();
        let text = requests.concat() + last;
        whole.send(&text);
        let (mut left, mut lengths) = (text.as_bytes(), lengths.iter().cycle());
        while !left.is_empty() {
            let piece = left.split_off(..left.len().min(*lengths.next().unwrap())).unwrap();
            // The server may respond to an invalid request and close before all of it is sent.
            let _ = pieces.stream().write_all(piece);
            // There is one worker: once it has replied to another connection, it has read the piece.
            probe.assert_healthy();
        }
        prop_assert_eq!(responses(&mut whole), responses(&mut pieces));
    }
}

#[test]
fn a_split_at_any_byte_changes_nothing() {
    let server = server();
    let body = "{\"key\":\"a\",\"cost\":0}";
    let text = [
        post("/v1/check", body),
        chunked(body, &[3, 9]),
        get("/check?key=a&peek=1"),
        "HEAD /healthz HTTP/1.1\nHost: t\nconnection: close\n\n".into(),
    ]
    .concat();
    let mut probe = Client::http(&server);
    let mut whole = Client::http(&server);
    whole.send(&text);
    let expected = responses(&mut whole);
    for at in 1..text.len() {
        let mut client = Client::http(&server);
        // The worker knows the connection, so that it reads what is sent before the probe.
        client.assert_healthy();
        let (first, second) = text.split_at(at);
        client.send(first);
        probe.assert_healthy();
        client.send(second);
        assert_eq!(responses(&mut client), expected, "cut at {at}");
    }
}

/// Empty lines before a request are part of its head, also if they arrive in pieces.
#[test]
fn the_head_limit_does_not_depend_on_pieces() {
    let server = server();
    let mut probe = Client::http(&server);
    let max = HttpLimits::default().head_bytes;
    let request = |bytes: usize| {
        let [before, after] =
            ["GET /healthz HTTP/1.1\r\nhost: t\r\nx: ", "\r\nconnection: close\r\n\r\n"];
        [before, &"x".repeat(bytes - before.len() - after.len()), after].concat()
    };
    for (lines, over) in (0..4).flat_map(|lines| (0..7).map(move |over| (lines, over))) {
        let head = request(max - 4 + over);
        let [mut whole, mut pieces] = [(); 2].map(|()| Client::http(&server));
        pieces.assert_healthy();
        whole.send("\r\n".repeat(lines) + &head);
        for _ in 0..lines {
            pieces.send("\r\n");
            probe.assert_healthy();
        }
        pieces.send(head);
        let (whole, pieces) = (responses(&mut whole), responses(&mut pieces));
        let is_accepted = lines * 2 + over <= 4;
        assert_eq!(whole.starts_with("HTTP/1.1 200"), is_accepted, "{lines} {over}: {whole}");
        assert_eq!(pieces, whole, "{lines} {over}");
    }
}

/// More requests than hyper answers at a time, and more than fit into one buffer.
#[test]
fn a_long_pipeline_gets_its_responses_in_order() {
    let lines = ["fixed-window 3000/h"];
    let server = support::http::server().policy(policy("default", &lines)).start().unwrap();
    let mut client = Client::http(&server);
    let request = |number: u32| match number % 3 {
        0 => get("/check?key=a"),
        1 => post("/v1/check", "{\"key\":\"a\"}"),
        _ => chunked("{\"key\":\"a\"}", &[5]),
    };
    client.send((0..3_000).map(request).collect::<String>());
    for number in 0..3_000_u32 {
        let (response, left) = (client.response(), 2_999 - number);
        assert_eq!(response.status, 200, "{number}");
        if number % 3 == 0 {
            let expected = format!("\"default\";r={left};t=3600");
            assert_eq!(response.header("ratelimit"), Some(expected.as_str()));
        } else {
            assert_eq!(response.decision(), (true, Some(3_000), Some(left.into())));
        }
    }
    assert_eq!(client.get("/check?key=a").status, 429);
}

#[test]
fn the_limits_on_heads_and_bodies_can_be_set() {
    let mut limits = HttpLimits::default();
    (limits.headers, limits.head_bytes, limits.body_bytes) = (3, 200, 10);
    let server = support::http::server().http_limits(limits).start().unwrap();
    let head = |fields: &str| format!("GET /healthz HTTP/1.1\r\nhost: t\r\n{fields}\r\n");
    let long =
        |bytes: usize| head(&format!("x: {}\r\n", "y".repeat(bytes - head("x: \r\n").len())));
    let cases = [
        (head("a: b\r\nc: d\r\n"), 200),
        (head("a: b\r\nc: d\r\ne: f\r\n"), 431),
        (long(200), 200),
        (long(201), 431),
        (head("content-length: 10\r\n") + "0123456789", 200),
        (head("content-length: 11\r\n"), 413),
        (head("transfer-encoding: chunked\r\n") + "b\r\n01234567890\r\n0\r\n\r\n", 413),
    ];
    for (sent, status) in cases {
        let mut client = Client::http(&server);
        client.send(&sent);
        assert_eq!(client.response().status, status, "{sent}");
    }
}

/// Random bytes, many of which have a meaning in the protocol.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let significant = select(b"GETPOSH/ :;,=%&?\r\n\r\n\r\n01aAfF{}[]\"\\".to_vec());
    let tokens = select(vec![
        "GET ",
        "POST ",
        "/check?",
        "/v1/check",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
        "host: t\r\n",
        "\r\n",
        "content-length: ",
        "transfer-encoding: chunked\r\n",
        "content-type: application/json\r\n",
        "\r\n\r\n",
        "0\r\n\r\n",
        "ffff\r\n",
        "key=",
        "{\"key\":\"",
        "{\"checks\":[",
        "PRI * HTTP/2.0\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\0\0\0\x04\0\0\0\0\0",
    ]);
    let piece = prop_oneof![
        6 => significant.prop_map(|byte| vec![byte]),
        2 => any::<u8>().prop_map(|byte| vec![byte]),
        6 => tokens.prop_map(Vec::from),
        1 => any_request().prop_map(String::into_bytes),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn noise_does_no_harm(bytes in noise()) {
        static SERVER: OnceLock<Server> = OnceLock::new();
        let server = SERVER.get_or_init(server);
        let mut client = Client::http(server);
        // The server may have closed the connection already.
        let _ = client.stream().write_all(&bytes);
        let _ = client.stream().shutdown(Shutdown::Write);
        let received = client.read_until(|_| false).unwrap();
        let is_http2 = bytes.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        prop_assert!(received.is_empty() || is_http2 || received.starts_with(b"HTTP/1."), "{received:?}");
        Client::http(server).assert_healthy();
    }
}

/// As `printf … | nc` does.
#[test]
fn replies_are_sent_after_the_client_shuts_down_its_side() {
    let server = server();
    let mut client = Client::http(&server);
    client.send(format!("{HEALTHZ}{HEALTHZ}GET /heal"));
    client.stream().shutdown(Shutdown::Write).unwrap();
    let received = without_date(&client.read_until(|_| false).unwrap());
    assert_eq!(String::from_utf8(received).unwrap(), HEALTHY.repeat(2));
}

/// hyper would take an admission for the start of a tunnel, and send nothing.
#[test]
fn a_tunnel_is_refused() {
    let server = server();
    let mut client = Client::http(&server);
    client.send("CONNECT /check?key=a HTTP/1.1\r\nhost: t\r\n\r\n");
    let response = client.response();
    assert_eq!((response.status, response.header("allow")), (405, Some("GET, HEAD, POST")));
}
