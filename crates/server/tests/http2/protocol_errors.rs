//! Prefaces in pieces, protocol errors and floods, none of which affects other clients.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;

use tollgate_server::{HttpLimits, Server};

use crate::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PREFACE, RESET, Raw,
    SETTINGS, frame, get, get_fields,
};
use crate::server;
use crate::support::Client;
use crate::support::http::{HEALTHZ, without_date};

fn default_server() -> Server {
    server(HttpLimits::default())
}

#[test]
fn a_preface_may_arrive_in_pieces() {
    let server = default_server();
    let mut probe = Client::http(&server);
    let settings = frame(SETTINGS, 0, 0, b"");
    let begin = [PREFACE, &settings, &get(1, "/healthz")].concat();
    for at in 1..begin.len() {
        let mut raw = Raw::without_preface(&server);
        raw.send(&begin[..at]);
        probe.assert_healthy();
        raw.send(&begin[at..]);
        assert_eq!(raw.next(DATA).payload, b"ok\n", "split at {at}");
    }
    let mut raw = Raw::without_preface(&server);
    for byte in &begin {
        raw.send(&[*byte]);
        probe.assert_healthy();
    }
    assert_eq!(raw.next(DATA).payload, b"ok\n");
    raw.assert_healthy(3);
}

/// Bytes that only start like a preface are not HTTP.
#[test]
fn an_invalid_preface_is_rejected() {
    let server = default_server();
    let wrong = PREFACE.iter().enumerate().skip(1).map(|(at, byte)| {
        let mut wrong = PREFACE.to_vec();
        wrong[at] = byte.wrapping_add(1);
        wrong
    });
    for sent in wrong {
        let mut raw = Raw::without_preface(&server);
        raw.send(&sent);
        let _ = raw.0.shutdown(Shutdown::Write);
        let mut received = Vec::new();
        raw.0.read_to_end(&mut received).unwrap();
        let received = String::from_utf8_lossy(&without_date(&received)).into_owned();
        assert!(
            received.starts_with("HTTP/1.1 400 Bad Request\r\n"),
            "{}: {received}",
            sent.escape_ascii()
        );
    }
    // A preface is accepted only at the start of a connection; hyper closes it without a response.
    let mut client = Client::http(&server);
    client.send([HEALTHZ.as_bytes(), PREFACE].concat());
    assert_eq!(client.response().status, 200);
    assert_eq!(client.read_to_end(), "");
}

/// Protocol errors, sent after the preface and settings.
fn violations() -> Vec<(&'static str, Vec<u8>)> {
    let fields = get_fields("/healthz");
    let whole = END_STREAM | END_HEADERS;
    vec![
        ("HTTP/1", HEALTHZ.into()),
        ("noise", b"\xff".repeat(100)),
        ("another preface", PREFACE.to_vec()),
        ("data before headers", frame(DATA, END_STREAM, 1, b"x")),
        ("data of the connection", frame(DATA, END_STREAM, 0, b"x")),
        ("headers of the connection", frame(HEADERS, whole, 0, &fields)),
        ("headers of an even stream", frame(HEADERS, whole, 2, &fields)),
        ("settings of a wrong length", frame(SETTINGS, 0, 0, b"12345")),
        ("settings of a stream", frame(SETTINGS, 0, 1, b"")),
        ("a window of zero", frame(8, 0, 0, &[0; 4])),
        ("a ping of a wrong length", frame(PING, 0, 0, b"1234567")),
        ("a continuation of nothing", frame(CONTINUATION, END_HEADERS, 1, &fields)),
        ("a frame within headers", [frame(HEADERS, 1, 1, &fields), get(3, "/")].concat()),
        ("fields that cannot be read", frame(HEADERS, whole, 1, b"\xff\xff\xff\xff\xff")),
        ("a table too large", frame(HEADERS, whole, 1, b"\x3f\xff\xff\xff\x7f")),
        ("a promise", frame(5, END_HEADERS, 1, b"\0\0\0\x02")),
        ("a frame too large", frame(DATA, 0, 1, &vec![0; 20_000])),
    ]
}

#[test]
fn a_protocol_error_gets_a_goaway() {
    let server = default_server();
    for (what, sent) in violations() {
        let mut raw = Raw::connect(&server);
        let _ = raw.0.write_all(&sent);
        let frames = raw.read_to_end();
        let goaway = frames.iter().find(|frame| frame.kind == GOAWAY);
        let goaway = goaway.unwrap_or_else(|| panic!("{what}: {frames:?}"));
        assert_ne!(goaway.payload[4..8], [0; 4], "{what} is an error");
        Raw::connect(&server).assert_healthy(1);
    }
}

/// A request with too many headers is rejected, and the connection stays open.
#[test]
fn the_head_size_is_limited() {
    let server = default_server();
    let mut raw = Raw::connect(&server);
    // 200 fields of 100 bytes, in two frames.
    let field = [b"\0\x01x\x64".as_slice(), &[b'y'; 100]].concat();
    let fields = [get_fields("/healthz"), field.repeat(200)].concat();
    let (first, second) = fields.split_at(10_000);
    raw.send(&frame(HEADERS, END_STREAM, 1, first));
    raw.send(&frame(CONTINUATION, END_HEADERS, 1, second));
    let rejected = raw.next(HEADERS);
    // The static table has no entry for 431, so its digits follow, plain or Huffman coded.
    assert_ne!(rejected.payload.first(), Some(&0x88), "{rejected:?}");
    raw.assert_healthy(3);
}

/// Floods that have brought down other servers. The sender may be disconnected; other clients are not
/// affected.
#[test]
fn floods_do_not_affect_other_clients() {
    let server = default_server();
    let mut other = Client::http(&server);
    let mut http2 = Raw::connect(&server);
    let post = b"\x83\x86\x04\x09/v1/check\x01\x01t";
    let resets: Vec<u8> = (0..20_000)
        .flat_map(|number| {
            let stream = 2 * number + 1;
            [get(stream, "/healthz"), frame(RESET, 0, stream, &[0, 0, 0, 8])].concat()
        })
        .collect();
    let empty = [frame(HEADERS, END_HEADERS, 1, post), frame(DATA, 0, 1, b"").repeat(100_000)];
    let more = frame(CONTINUATION, 0, 1, &[b"\0\x01x\x64".as_slice(), &[b'y'; 100]].concat());
    let endless = [frame(HEADERS, END_STREAM, 1, &get_fields("/")), more.repeat(20_000)];
    let floods = [
        ("resets", resets),
        ("empty data", empty.concat()),
        ("continuations", endless.concat()),
        ("pings", frame(PING, 0, 0, &[0; 8]).repeat(100_000)),
        ("settings", frame(SETTINGS, 0, 0, b"").repeat(100_000)),
    ];
    for (stream, (what, flood)) in (1..).step_by(2).zip(floods) {
        let mut raw = Raw::connect(&server);
        let mut reader = raw.0.try_clone().unwrap();
        let reading = std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        let sent = raw.0.write_all(&flood);
        other.assert_healthy();
        http2.assert_healthy(stream);
        println!("{what}: {sent:?}");
        let _ = raw.0.shutdown(Shutdown::Both);
        let _ = reading.join().unwrap();
    }
}
