//! Prefaces in pieces, and those who break the protocol: they are told, and nobody else suffers.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;

use tollgate_server::{HttpLimits, Server};

use crate::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PREFACE, RESET, Raw,
    SETTINGS, frame, get, get_fields,
};
use crate::server;
use crate::support::Client;
use crate::support::http::{HEALTHZ, undated};

fn here() -> Server {
    server(HttpLimits::default())
}

#[test]
fn a_preface_may_come_in_pieces() {
    let server = here();
    let mut bell = Client::http(&server);
    let settings = frame(SETTINGS, 0, 0, b"");
    let begin = [PREFACE, &settings, &get(1, "/healthz")].concat();
    for at in 1..begin.len() {
        let mut raw = Raw::silent(&server);
        raw.send(&begin[..at]);
        bell.is_healthy();
        raw.send(&begin[at..]);
        assert_eq!(raw.next(DATA).payload, b"ok\n", "cut at {at}");
    }
    let mut raw = Raw::silent(&server);
    for byte in &begin {
        raw.send(&[*byte]);
        bell.is_healthy();
    }
    assert_eq!(raw.next(DATA).payload, b"ok\n");
    raw.is_healthy(3);
}

/// Whatever begins like a preface and goes on otherwise is no HTTP.
#[test]
fn a_wrong_preface_is_refused() {
    let server = here();
    let wrong = PREFACE.iter().enumerate().skip(1).map(|(at, byte)| {
        let mut wrong = PREFACE.to_vec();
        wrong[at] = byte.wrapping_add(1);
        wrong
    });
    for sent in wrong {
        let mut raw = Raw::silent(&server);
        raw.send(&sent);
        let _ = raw.0.shutdown(Shutdown::Write);
        let mut came = Vec::new();
        raw.0.read_to_end(&mut came).unwrap();
        let came = String::from_utf8_lossy(&undated(&came)).into_owned();
        assert!(
            came.starts_with("HTTP/1.1 400 Bad Request\r\n"),
            "{}: {came}",
            sent.escape_ascii()
        );
    }
    // It is only understood as the first that is said.
    let mut client = Client::http(&server);
    client.send([HEALTHZ.as_bytes(), PREFACE].concat());
    assert_eq!((client.answer().status, client.answer().status), (200, 400));
}

/// What breaks the protocol, after the preface and settings.
fn broken() -> Vec<(&'static str, Vec<u8>)> {
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
fn whoever_breaks_the_protocol_is_told() {
    let server = here();
    for (what, sent) in broken() {
        let mut raw = Raw::of(&server);
        let _ = raw.0.write_all(&sent);
        let frames = raw.rest();
        let told = frames.iter().find(|frame| frame.kind == GOAWAY);
        let told = told.unwrap_or_else(|| panic!("{what}: {frames:?}"));
        assert_ne!(told.payload[4..8], [0; 4], "{what} is an error");
        Raw::of(&server).is_healthy(1);
    }
}

/// Too many fields are refused, and the connection goes on.
#[test]
fn a_head_has_a_bound() {
    let server = here();
    let mut raw = Raw::of(&server);
    // 200 fields of 100 bytes, in two frames.
    let field = [b"\0\x01x\x64".as_slice(), &[b'y'; 100]].concat();
    let fields = [get_fields("/healthz"), field.repeat(200)].concat();
    let (first, second) = fields.split_at(10_000);
    raw.send(&frame(HEADERS, END_STREAM, 1, first));
    raw.send(&frame(CONTINUATION, END_HEADERS, 1, second));
    let refused = raw.next(HEADERS);
    // 431 is in no table: its digits, as they are or as Huffman has them.
    assert_ne!(refused.payload.first(), Some(&0x88), "{refused:?}");
    raw.is_healthy(3);
}

/// Floods that have brought down others. Whoever sends them may be left; nobody else suffers.
#[test]
fn floods_hurt_nobody_else() {
    let server = here();
    let mut other = Client::http(&server);
    let mut two = Raw::of(&server);
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
        let mut raw = Raw::of(&server);
        let mut reader = raw.0.try_clone().unwrap();
        let reading = std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        let sent = raw.0.write_all(&flood);
        other.is_healthy();
        two.is_healthy(stream);
        println!("{what}: {sent:?}");
        let _ = raw.0.shutdown(Shutdown::Both);
        let _ = reading.join().unwrap();
    }
}
