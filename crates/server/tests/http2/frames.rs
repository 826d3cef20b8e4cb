//! A client that sends and receives single frames.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use tollgate_server::Server;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RESET: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Encodes the headers of a `GET` request without using the dynamic table.
pub(crate) fn get_fields(target: &str) -> Vec<u8> {
    let length = u8::try_from(target.len()).unwrap();
    // :method GET, :scheme http, :path, :authority
    [b"\x82\x86\x04", [length].as_slice(), target.as_bytes(), b"\x01\x01t"].concat()
}

pub(crate) fn get(stream: u32, target: &str) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &get_fields(target))
}

/// A connection on which only the test sends frames.
pub(crate) struct Raw(pub(crate) TcpStream);

impl Raw {
    /// Connects, and sends the preface and empty settings.
    pub(crate) fn connect(server: &Server) -> Raw {
        let mut raw = Raw::without_preface(server);
        raw.send(&[PREFACE, &frame(SETTINGS, 0, 0, b"")].concat());
        raw
    }

    /// Connects, and sends nothing.
    pub(crate) fn without_preface(server: &Server) -> Raw {
        let stream = TcpStream::connect(server.http().unwrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Raw(stream)
    }

    #[track_caller]
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    pub(crate) fn read(&mut self) -> io::Result<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head)?;
        let [a, b, c, kind, flags, s, t, u, v] = head;
        let mut payload = vec![0; usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap()];
        self.0.read_exact(&mut payload)?;
        if (kind, flags) == (PING, 0) {
            // When the server stops, it waits for this reply.
            let _ = self.0.write_all(&frame(PING, 1, 0, &payload));
        }
        Ok(Frame { kind, flags, stream: u32::from_be_bytes([s, t, u, v]), payload })
    }

    /// Reads up to the next frame of a kind.
    #[track_caller]
    pub(crate) fn next(&mut self, kind: u8) -> Frame {
        loop {
            let frame = self.read().unwrap();
            if frame.kind == kind {
                return frame;
            }
        }
    }

    /// Reads all frames until the server closes the connection.
    pub(crate) fn read_to_end(&mut self) -> Vec<Frame> {
        std::iter::from_fn(|| self.read().ok()).collect()
    }

    /// Checks that a request gets its response.
    #[track_caller]
    pub(crate) fn assert_healthy(&mut self, stream: u32) {
        self.send(&get(stream, "/healthz"));
        let head = self.next(HEADERS);
        // :status 200, from the static table.
        assert_eq!((head.stream, head.payload.first()), (stream, Some(&0x88)));
        let body = self.next(DATA);
        assert_eq!((body.stream, body.payload.as_slice()), (stream, b"ok\n".as_slice()));
    }
}
