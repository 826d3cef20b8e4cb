//! HTTP/1 in bytes: requests as text, answers taken apart.

use std::io::{self, BufRead as _, ErrorKind, Read as _};

use serde_json::Value;
use tollgate::Clock;
use tollgate_server::{Server, ServerBuilder};

use super::Client;

/// What is asked when all that matters is that there is an answer.
pub(crate) const HEALTHZ: &str = "GET /healthz HTTP/1.1\r\nhost: t\r\n\r\n";

/// The answer to that, without its date.
pub(crate) const HEALTHY: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\n\
                                  content-length: 3\r\ncache-control: no-store\r\n\r\nok\n";

/// With one loop, on a clock that stands still.
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

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// The only field of that name.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(known, _)| known == name);
        let first = found.next().map(|(_, value)| value.as_str());
        assert_eq!(found.next(), None, "{name} comes twice");
        first
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The numbers of a decision: whether it is allowed, the limit, and how much remains.
    #[track_caller]
    pub(crate) fn told(&self) -> (bool, Option<u64>, Option<u64>) {
        let json = self.json();
        let told = json["allowed"].as_bool().unwrap_or_else(|| panic!("{self:?}"));
        assert_eq!(self.status == 200, told, "{self:?}");
        (told, json["limit"].as_u64(), json["remaining"].as_u64())
    }
}

/// The same bytes without the lines that say when they were sent.
pub(crate) fn undated(bytes: &[u8]) -> Vec<u8> {
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
        Client::at(server.http().unwrap())
    }

    /// The next answer.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.read_answer(false).unwrap()
    }

    /// The next answer to a `HEAD`, which has only a head.
    #[track_caller]
    pub(crate) fn head(&mut self) -> Answer {
        self.read_answer(true).unwrap()
    }

    #[track_caller]
    pub(crate) fn get(&mut self, target: &str) -> Answer {
        self.send(get(target));
        self.answer()
    }

    #[track_caller]
    pub(crate) fn post(&mut self, target: &str, json: &str) -> Answer {
        self.send(post(target, json));
        self.answer()
    }

    #[track_caller]
    pub(crate) fn is_healthy(&mut self) {
        let Answer { status, body, .. } = self.get("/healthz");
        assert_eq!((status, body.as_str()), (200, "ok\n"));
    }

    fn read_answer(&mut self, only_head: bool) -> io::Result<Answer> {
        let first = self.read_line()?;
        let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status: {first:?}")))?;
        let (mut fields, mut length) = (Vec::new(), 0);
        loop {
            let line = self.read_line()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            if name == "content-length" {
                length = value.parse().unwrap();
            }
            fields.push((name.to_owned(), value.to_owned()));
        }
        let mut body = vec![0; if only_head { 0 } else { length }];
        self.0.read_exact(&mut body)?;
        Ok(Answer { status, fields, body: String::from_utf8(body).unwrap() })
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let line = line.strip_suffix("\r\n").ok_or(ErrorKind::UnexpectedEof)?;
        Ok(line.to_owned())
    }
}
