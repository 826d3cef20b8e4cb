//! What is answered, whatever version of the protocol carries it.

use super::rejection::reason;

/// One answer. Made once, and filled again and again.
#[derive(Debug, Default)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) body: String,
}

/// How an answer is sent over HTTP/1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Framing<'d> {
    pub(super) date: &'d str,
    /// Whether its body is only announced.
    pub(super) without_body: bool,
    /// What is said of the connection, where that is needed.
    pub(super) connection: Option<&'static str>,
}

impl Response {
    /// Begins anew.
    pub(super) fn begin(&mut self, status: u16, content_type: &'static str) {
        self.status = status;
        self.content_type = content_type;
        self.fields.clear();
        self.body.clear();
    }

    pub(super) fn field(&mut self, name: &'static str, value: &str) {
        self.fields.push((name, value.to_owned()));
    }

    /// As HTTP/1.1 has it.
    pub(super) fn write_to(&self, out: &mut Vec<u8>, framing: Framing<'_>) {
        let mut line = |parts: &[&str]| {
            for part in parts {
                out.extend_from_slice(part.as_bytes());
            }
            out.extend_from_slice(b"\r\n");
        };
        match self.status {
            200 => line(&["HTTP/1.1 200 OK"]),
            status => line(&["HTTP/1.1 ", itoa::Buffer::new().format(status), " ", reason(status)]),
        }
        line(&["date: ", framing.date]);
        if !self.body.is_empty() {
            line(&["content-type: ", self.content_type]);
        }
        line(&["content-length: ", itoa::Buffer::new().format(self.body.len())]);
        for (name, value) in &self.fields {
            line(&[name, ": ", value]);
        }
        if let Some(connection) = framing.connection {
            line(&["connection: ", connection]);
        }
        line(&[]);
        if !framing.without_body {
            out.extend_from_slice(self.body.as_bytes());
        }
    }
}
