//! Writes responses as HTTP/1.1.

use crate::http::rejection::reason;
use crate::http::response::Response;

/// What a response says beside what its route has written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Framing<'d> {
    pub(super) date: &'d str,
    /// Whether the body is announced by its length only, as for `HEAD`.
    pub(super) without_body: bool,
    /// The header `connection`, where it is needed.
    pub(super) connection: Option<&'static str>,
}

impl Framing<'_> {
    /// Appends the response to `out`.
    pub(super) fn write(self, response: &Response, out: &mut Vec<u8>) {
        let mut line = |parts: &[&str]| {
            for part in parts {
                out.extend_from_slice(part.as_bytes());
            }
            out.extend_from_slice(b"\r\n");
        };
        match response.status {
            200 => line(&["HTTP/1.1 200 OK"]),
            status => line(&["HTTP/1.1 ", itoa::Buffer::new().format(status), " ", reason(status)]),
        }
        line(&["date: ", self.date]);
        if !response.body.is_empty() {
            line(&["content-type: ", response.content_type]);
        }
        line(&["content-length: ", itoa::Buffer::new().format(response.body.len())]);
        for (name, value) in &response.fields {
            line(&[name, ": ", value]);
        }
        if let Some(connection) = self.connection {
            line(&["connection: ", connection]);
        }
        line(&[]);
        if !self.without_body {
            out.extend_from_slice(response.body.as_bytes());
        }
    }
}
