//! HTTP/1 requests as text, and parsed responses.

use std::io::{self, BufRead as _, ErrorKind, Read as _};

use serde_json::Value;
use tollgate::Clock;
use tollgate_server::{Server, ServerBuilder};

use super::Client;

/// A request for tests that only need some response.
pub(crate) const HEALTHZ: &str = "GET /healthz HTTP/1.1\r\nhost: t\r\n\r\n";

/// The response to [`HEALTHZ`], without its date.
pub(crate) const HEALTHY: &str = "HTTP/1.1 200 OK\r\ncache-control: no-store\r\n\
                                  content-type: text/plain; charset=utf-8\r\n\
                                  content-length: 3\r\n\r\nok\n";

/// Creates a server with one worker and a manual clock.
pub(crate) fn server() -> ServerBuilder {
    server_on(&Clock::manual())
}

pub(crate) fn server_on(clock: &Clock) -> ServerBuilder {
    super::server_on(clock).http("127.0.0.1:0".parse().unwrap())
}

pub(crate) fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nhost: t\r\n\r\n")
}

pub(crate) fn post(target: &str, json: &str) -> String {
    let length = json.len();
    format!(
        "POST {target} HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{json}"
    )
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Response {
    /// Returns the value of a header, and fails if there are several.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let first = found.next().map(|(_, value)| value.as_str());
        assert_eq!(found.next(), None, "duplicate header {name}");
        first
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns `allowed`, `limit` and `remaining` of a decision.
    #[track_caller]
    pub(crate) fn decision(&self) -> (bool, Option<u64>, Option<u64>) {
        let json = self.json();
        let allowed = json["allowed"].as_bool().unwrap_or_else(|| panic!("{self:?}"));
        assert_eq!(self.status == 200, allowed, "{self:?}");
        (allowed, json["limit"].as_u64(), json["remaining"].as_u64())
    }
}

/// Removes the `date` headers.
pub(crate) fn without_date(bytes: &[u8]) -> Vec<u8> {
    const DATE: &[u8] = b"\r\ndate: ";
    const LENGTH: usize = b"\r\ndate: Mon, 16 Nov 2026 00:45:06 GMT".len();
    let (mut left, mut kept) = (bytes, Vec::new());
    while let Some(at) = left.windows(DATE.len()).position(|window| window == DATE) {
        let (before, date) = left.split_at(at);
        kept.extend(before);
        left = date.get(LENGTH..).unwrap_or_default();
    }
    kept.extend(left);
    kept
}

impl Client {
    pub(crate) fn http(server: &Server) -> Client {
        Client::connect(server.http().unwrap())
    }

    /// Reads the next response.
    #[track_caller]
    pub(crate) fn response(&mut self) -> Response {
        self.read_response(false).unwrap()
    }

    /// Reads the next response to a `HEAD` request, which has no body.
    #[track_caller]
    pub(crate) fn head(&mut self) -> Response {
        self.read_response(true).unwrap()
    }

    #[track_caller]
    pub(crate) fn get(&mut self, target: &str) -> Response {
        self.send(get(target));
        self.response()
    }

    #[track_caller]
    pub(crate) fn post(&mut self, target: &str, json: &str) -> Response {
        self.send(post(target, json));
        self.response()
    }

    #[track_caller]
    pub(crate) fn assert_healthy(&mut self) {
        let Response { status, body, .. } = self.get("/healthz");
        assert_eq!((status, body.as_str()), (200, "ok\n"));
    }

    fn read_response(&mut self, only_head: bool) -> io::Result<Response> {
        let first = self.read_line()?;
        let version = ["HTTP/1.1 ", "HTTP/1.0 "];
        let rest = version.iter().find_map(|version| first.strip_prefix(version));
        let status = rest.and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status: {first:?}")))?;
        let (mut headers, mut length) = (Vec::new(), 0);
        loop {
            let line = self.read_line()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            if name == "content-length" {
                length = value.parse().unwrap();
            }
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut body = vec![0; if only_head { 0 } else { length }];
        self.0.read_exact(&mut body)?;
        Ok(Response { status, headers, body: String::from_utf8(body).unwrap() })
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let line = line.strip_suffix("\r\n").ok_or(ErrorKind::UnexpectedEof)?;
        Ok(line.to_owned())
    }
}
