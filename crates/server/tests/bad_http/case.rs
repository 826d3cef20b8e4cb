//! One class of input.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::time::Duration;

use tollgate_server::Server;

use crate::support::Client;
use crate::support::http::{HEALTHY, HEALTHZ, undated};

pub(crate) struct Case {
    sent: Vec<u8>,
    /// Without its date.
    reply: Vec<u8>,
    stays: bool,
    /// Whether the client says that this was all.
    cut: bool,
}

/// How long the server may be silent. Only a wrong answer takes that long.
const PATIENCE: Duration = Duration::from_secs(2);

impl Case {
    /// The connection goes on.
    pub(crate) fn stays(sent: impl Into<Vec<u8>>, reply: impl Into<Vec<u8>>) -> Case {
        Case { sent: sent.into(), reply: reply.into(), stays: true, cut: false }
    }

    /// The server closes the connection.
    pub(crate) fn closes(sent: impl Into<Vec<u8>>, reply: impl Into<Vec<u8>>) -> Case {
        Case { sent: sent.into(), reply: reply.into(), stays: false, cut: false }
    }

    /// The client leaves in the middle of a request: nobody is answered.
    pub(crate) fn cut_off(sent: impl Into<Vec<u8>>) -> Case {
        Case { cut: true, ..Case::closes(sent, "") }
    }

    /// What follows cannot be read: the client is told why, and the connection is closed.
    pub(crate) fn broken(sent: impl Into<Vec<u8>>, status: u16, why: &str) -> Case {
        Case::closes(sent, Reply::problem(status, why).closing())
    }

    /// It is refused, and the connection goes on.
    pub(crate) fn refused(sent: impl Into<Vec<u8>>, status: u16, why: &str) -> Case {
        Case::stays(sent, Reply::problem(status, why))
    }

    /// What came instead, if anything did. Afterwards someone else is served.
    pub(crate) fn wrong(&self, server: &Server) -> Option<String> {
        let mut client = Client::http(server);
        client.stream().set_read_timeout(Some(PATIENCE)).unwrap();
        let mut expected = self.reply.clone();
        // Whoever is closed may not get to send it all.
        let _ = client.stream().write_all(&self.sent);
        if self.stays {
            let _ = client.stream().write_all(HEALTHZ.as_bytes());
            expected.extend(HEALTHY.bytes());
        }
        if self.cut {
            client.stream().shutdown(Shutdown::Write).unwrap();
        }
        let came = self.heard(&mut client, &expected);
        Client::http(server).is_healthy();
        (came != expected).then(|| {
            let [sent, expected, came] = [&self.sent, &expected, &came].map(|bytes| shown(bytes));
            format!("sent     {sent}\nexpected {expected}\ncame     {came}\n")
        })
    }

    /// All that comes, without its dates, until nothing more can be expected.
    fn heard(&self, client: &mut Client, expected: &[u8]) -> Vec<u8> {
        let (mut came, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        // Whoever is to be closed is not done when all has come.
        let ends = |came: &[u8]| came.len() >= expected.len() && came.ends_with(HEALTHY.as_bytes());
        while !(self.stays && ends(&undated(&came))) {
            match client.stream().read(&mut buffer) {
                Ok(count @ 1..) => came.extend(&buffer[..count]),
                Ok(0) => break,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Err(_) => {
                    came.extend(b" (and it stays open)");
                    break;
                }
            }
        }
        undated(&came)
    }
}

/// An answer as it is sent, without its date.
pub(crate) struct Reply {
    status: u16,
    content_type: &'static str,
    fields: &'static str,
    body: String,
}

impl Reply {
    /// Something that is not decided.
    pub(crate) fn problem(status: u16, detail: &str) -> Reply {
        let (title, detail) = (reason(status), serde_json::Value::from(detail));
        let body = format!(
            "{{\"type\":\"about:blank\",\"title\":\"{title}\",\"status\":{status},\
             \"detail\":{detail}}}"
        );
        Reply { status, content_type: "application/problem+json", fields: "", body }
    }

    /// A decision, in JSON.
    pub(crate) fn json(body: &str) -> Reply {
        Reply { status: 200, content_type: "application/json", fields: "", body: body.to_owned() }
    }

    /// A page that says one word.
    pub(crate) fn page(text: &str) -> Reply {
        Reply {
            status: 200,
            content_type: "text/plain; charset=utf-8",
            fields: "cache-control: no-store\r\n",
            body: text.to_owned(),
        }
    }

    /// What a proxy is told of whoever may pass.
    pub(crate) fn passes(fields: &'static str) -> Reply {
        Reply { status: 200, content_type: "", fields, body: String::new() }
    }

    /// The same with these lines after the length of the body.
    pub(crate) fn fields(self, fields: &'static str) -> Reply {
        Reply { fields, ..self }
    }

    /// The same, as the last one.
    pub(crate) fn closing(self) -> Vec<u8> {
        self.written("connection: close\r\n", true)
    }

    /// The same to a `HEAD`.
    pub(crate) fn only_head(self) -> Vec<u8> {
        self.written("", false)
    }

    /// The same to a `HEAD`, as the last one.
    pub(crate) fn closing_head(self) -> Vec<u8> {
        self.written("connection: close\r\n", false)
    }

    fn written(&self, last: &str, with_body: bool) -> Vec<u8> {
        let Reply { status, content_type, fields, body } = self;
        let (reason, length) = (reason(*status), body.len());
        let kind = if body.is_empty() {
            String::new()
        } else {
            format!("content-type: {content_type}\r\n")
        };
        let body = if with_body { body } else { "" };
        format!(
            "HTTP/1.1 {status} {reason}\r\n{kind}content-length: {length}\r\n{fields}{last}\r\n{body}"
        )
        .into()
    }
}

impl From<Reply> for Vec<u8> {
    fn from(reply: Reply) -> Vec<u8> {
        reply.written("", true)
    }
}

/// What HTTP calls a status.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        other => panic!("{other}"),
    }
}

/// The beginning and the end of what may be long.
fn shown(bytes: &[u8]) -> String {
    match bytes.split_at_checked(600) {
        Some((start, end)) => format!("{} … {} more", start.escape_ascii(), end.len()),
        None => bytes.escape_ascii().to_string(),
    }
}
