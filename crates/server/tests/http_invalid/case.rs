//! One test case: what is sent, and the exact bytes expected.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::time::Duration;

use tollgate_server::Server;

use crate::support::Client;
use crate::support::http::{HEALTHY, HEALTHZ, without_date};

pub(crate) struct Case {
    sent: Vec<u8>,
    /// The expected bytes without the date.
    reply: Vec<u8>,
    stays: bool,
    /// Whether the client shuts down its side of the connection.
    shuts_down: bool,
}

/// How long to wait for the server. Only a wrong response takes that long.
const TIMEOUT: Duration = Duration::from_secs(2);

impl Case {
    /// A case after which the connection stays open.
    pub(crate) fn stays(sent: impl Into<Vec<u8>>, reply: impl Into<Vec<u8>>) -> Case {
        Case { sent: sent.into(), reply: reply.into(), stays: true, shuts_down: false }
    }

    /// A case after which the server closes the connection.
    pub(crate) fn closes(sent: impl Into<Vec<u8>>, reply: impl Into<Vec<u8>>) -> Case {
        Case { sent: sent.into(), reply: reply.into(), stays: false, shuts_down: false }
    }

    /// The client stops in the middle of a request. It gets no response.
    pub(crate) fn cut_off(sent: impl Into<Vec<u8>>) -> Case {
        Case { shuts_down: true, ..Case::closes(sent, "") }
    }

    /// Sets the expected bytes.
    pub(crate) fn with_reply(self, reply: Vec<u8>) -> Case {
        Case { reply, ..self }
    }

    /// hyper cannot parse the request: the server responds with a status alone and closes the connection.
    pub(crate) fn refused(sent: impl Into<Vec<u8>>, status: u16) -> Case {
        Case::closes(sent, Reply::bare(status).closing())
    }

    /// The request is ambiguous: the server responds with an error and closes the connection.
    pub(crate) fn malformed(sent: impl Into<Vec<u8>>, status: u16, why: &str) -> Case {
        Case::closes(sent, Reply::problem(status, why).closing())
    }

    /// The request is rejected, and the connection stays open.
    pub(crate) fn rejected(sent: impl Into<Vec<u8>>, status: u16, why: &str) -> Case {
        Case::stays(sent, Reply::problem(status, why))
    }

    /// Runs the case. Returns a report if it fails. Also checks that other clients are still served.
    pub(crate) fn failure(&self, server: &Server) -> Option<String> {
        let mut client = Client::http(server);
        client.stream().set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut expected = self.reply.clone();
        // If the server closes the connection early, the write fails.
        let _ = client.stream().write_all(&self.sent);
        if self.stays {
            let _ = client.stream().write_all(HEALTHZ.as_bytes());
            expected.extend(HEALTHY.bytes());
        }
        if self.shuts_down {
            client.stream().shutdown(Shutdown::Write).unwrap();
        }
        let received = self.receive(&mut client, &expected);
        Client::http(server).assert_healthy();
        (received != expected).then(|| {
            let [sent, expected, received] =
                [&self.sent, &expected, &received].map(|bytes| excerpt(bytes));
            format!("sent     {sent}\nexpected {expected}\nreceived {received}\n")
        })
    }

    /// Reads all responses, without their dates, until nothing more can be expected.
    fn receive(&self, client: &mut Client, expected: &[u8]) -> Vec<u8> {
        let (mut received, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        // If the connection is to be closed, wait for that even when all bytes have arrived.
        let ends = |received: &[u8]| {
            received.len() >= expected.len() && received.ends_with(HEALTHY.as_bytes())
        };
        while !(self.stays && ends(&without_date(&received))) {
            match client.stream().read(&mut buffer) {
                Ok(count @ 1..) => received.extend(&buffer[..count]),
                Ok(0) => break,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Err(_) => {
                    received.extend(b" (and it stays open)");
                    break;
                }
            }
        }
        without_date(&received)
    }
}

/// The headers of a policy `default` for an unused key.
pub(crate) const FRESH_FIELDS: &str = "cache-control: no-store\r\nratelimit: \"default\";r=5\r\n\
                                       ratelimit-policy: \"default\";q=1;w=1;tollgate-burst=5\r\n";

/// The body of a peek with such a key.
pub(crate) const FRESH: &str = "{\"allowed\":true,\"limit\":5,\"remaining\":5,\"retry_after_ms\":0,\
                                \"reset_after_ms\":0,\"policy\":\"default\",\"bound_by\":\"gcra 1/s burst 5\"}";

/// An expected response, without its date.
pub(crate) struct Reply {
    version: &'static str,
    status: u16,
    content_type: &'static str,
    fields: &'static str,
    body: String,
}

impl Reply {
    /// An error response.
    pub(crate) fn problem(status: u16, detail: &str) -> Reply {
        let (title, detail) = (reason(status), serde_json::Value::from(detail));
        let body = format!(
            "{{\"type\":\"about:blank\",\"title\":\"{title}\",\"status\":{status},\
             \"detail\":{detail}}}"
        );
        Reply { status, content_type: "application/problem+json", body, ..Reply::bare(status) }
    }

    /// A status without a body.
    pub(crate) fn bare(status: u16) -> Reply {
        let body = String::new();
        Reply { version: "1.1", status, content_type: "", fields: "", body }
    }

    /// A peek of the policy `default` with an unused key, in JSON.
    pub(crate) fn fresh() -> Reply {
        Reply::json(FRESH).fields(FRESH_FIELDS)
    }

    /// An answer in JSON.
    pub(crate) fn json(body: &str) -> Reply {
        let body = body.to_owned();
        Reply { content_type: "application/json", body, ..Reply::bare(200) }
    }

    /// A plain text page.
    pub(crate) fn page(text: &str) -> Reply {
        Reply {
            content_type: "text/plain; charset=utf-8",
            fields: "cache-control: no-store\r\n",
            body: text.to_owned(),
            ..Reply::bare(200)
        }
    }

    /// The response to a proxy whose client is allowed.
    pub(crate) fn allowed(fields: &'static str) -> Reply {
        Reply { fields, ..Reply::bare(200) }
    }

    /// Sets the header lines before `content-type`.
    pub(crate) fn fields(self, fields: &'static str) -> Reply {
        Reply { fields, ..self }
    }

    /// Makes it a response to a client of HTTP/1.0.
    pub(crate) fn old(self) -> Reply {
        Reply { version: "1.0", ..self }
    }

    /// Encodes a response that says that the connection stays open.
    pub(crate) fn keeping_alive(self) -> Vec<u8> {
        self.encode("connection: keep-alive\r\n", true)
    }

    /// Encodes the last response of a connection.
    pub(crate) fn closing(self) -> Vec<u8> {
        self.encode("connection: close\r\n", true)
    }

    /// Encodes the response to a `HEAD` request.
    pub(crate) fn only_head(self) -> Vec<u8> {
        self.encode("", false)
    }

    /// Encodes the last response of a connection, to a `HEAD` request.
    pub(crate) fn closing_head(self) -> Vec<u8> {
        self.encode("connection: close\r\n", false)
    }

    fn encode(&self, last: &str, with_body: bool) -> Vec<u8> {
        let Reply { version, status, content_type, fields, body } = self;
        let (phrase, length) = (phrase(*status), body.len());
        let kind = if body.is_empty() {
            String::new()
        } else {
            format!("content-type: {content_type}\r\n")
        };
        let body = if with_body { body } else { "" };
        format!(
            "HTTP/{version} {status} {phrase}\r\n{fields}{kind}{last}content-length: {length}\r\n\r\n{body}"
        )
        .into()
    }
}

impl From<Reply> for Vec<u8> {
    fn from(reply: Reply) -> Vec<u8> {
        reply.encode("", true)
    }
}

/// Returns the phrase that hyper sends with a status, in words of older standards.
fn phrase(status: u16) -> &'static str {
    match status {
        413 => "Payload Too Large",
        422 => "Unprocessable Entity",
        status => reason(status),
    }
}

/// Returns the title of a problem with this status.
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
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        other => panic!("{other}"),
    }
}

/// Formats bytes, truncated if they are long.
fn excerpt(bytes: &[u8]) -> String {
    match bytes.split_at_checked(600) {
        Some((start, end)) => format!("{} … {} more", start.escape_ascii(), end.len()),
        None => bytes.escape_ascii().to_string(),
    }
}
