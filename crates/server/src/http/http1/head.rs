//! The head of a request of HTTP/1: what it asks for, and how its body is framed.

use std::mem::MaybeUninit;
use std::ops::Range;

use httparse::{Error, Status};

use super::chunked::ChunkedBody;
use super::error::{HEAD_TOO_LARGE, MessageError, TOO_LARGE, error};
use crate::http::request::{Method, Request, is_json};
use crate::limits::{HttpLimits, MAX_HEADERS};
use crate::trace;

/// A request that has arrived whole: where its parts are in the buffer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) method: Method,
    target: Range<usize>,
    is_json: bool,
    has_origin: bool,
    trace: Option<Range<usize>>,
    body: Range<usize>,
    /// Whether the client speaks HTTP/1.0.
    pub(super) is_http10: bool,
    /// Whether another request may follow on the connection.
    pub(super) keeps_alive: bool,
    /// Where the next request begins.
    pub(super) end: usize,
}

/// Whether a request has arrived whole.
#[derive(Debug)]
pub(super) enum Parsed {
    Complete(Head),
    /// More is to come; `expects_continue` if the client waits for `100 Continue` before it sends it.
    Partial {
        expects_continue: bool,
    },
}

/// How the body is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Known(usize),
    Chunked,
}

/// What the header fields say about the message itself.
#[derive(Debug, Default)]
struct Fields<'b> {
    length: Option<Length>,
    hosts: usize,
    closes: bool,
    keeps_alive: bool,
    expects_continue: bool,
    is_json: bool,
    has_origin: bool,
    trace: Option<&'b [u8]>,
}

impl Head {
    /// Returns the request, in the buffer it was parsed from.
    pub(super) fn request<'b>(&self, buffer: &'b [u8]) -> Request<'b> {
        let text = |range: &Range<usize>| {
            let bytes = buffer.get(range.clone()).unwrap_or_default();
            std::str::from_utf8(bytes).ok()
        };
        Request {
            method: self.method,
            // The parser accepts only UTF-8 here.
            target: text(&self.target).unwrap_or_default(),
            trace: self.trace.as_ref().and_then(text),
            is_json: self.is_json,
            has_origin: self.has_origin,
            body: buffer.get(self.body.clone()).unwrap_or_default(),
        }
    }

    /// Returns whether the request is for a page. Its response may be long, so that it is sent before more
    /// requests are read.
    pub(super) fn is_page(&self, buffer: &[u8]) -> bool {
        let is_check = || self.request(buffer).target.starts_with("/check");
        matches!(self.method, Method::Get | Method::Head) && !is_check()
    }
}

/// Parses the request that begins at `start`. The chunks of a chunked body are joined in place, going on
/// from where they were parsed last.
///
/// # Errors
/// Fails if the bytes are not the start of a valid request within the limits.
pub(super) fn parse(
    buffer: &mut [u8],
    start: usize,
    chunked: &mut ChunkedBody,
    limits: &HttpLimits,
) -> Result<Parsed, MessageError> {
    let bytes = buffer.get(start..).unwrap_or_default();
    let mut fields = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let fields = fields.get_mut(..limits.headers).unwrap_or_default();
    let mut request = httparse::Request::new(&mut []);
    let parsed = request.parse_with_uninit_headers(bytes, fields);
    let Some(length) = length(parsed, bytes.len(), limits)? else {
        return Ok(Parsed::Partial { expects_continue: false });
    };
    let is_http11 = request.version == Some(1);
    let fields = Fields::parse(request.headers, is_http11, limits)?;
    let range = |part: &[u8]| {
        let at = part.as_ptr().addr() - bytes.as_ptr().addr() + start;
        at..at + part.len()
    };
    let head = Head {
        method: Method::from_name(request.method.unwrap_or_default()),
        target: range(request.path.unwrap_or_default().as_bytes()),
        is_json: fields.is_json,
        has_origin: fields.has_origin,
        trace: fields.trace.map(range),
        body: 0..0,
        is_http10: !is_http11,
        keeps_alive: !fields.closes && (is_http11 || fields.keeps_alive),
        end: 0,
    };
    // A client of HTTP/1.0 does not know `100 Continue`.
    let expects_continue = fields.expects_continue && is_http11;
    let frame = fields.length.unwrap_or(Length::Known(0));
    let from = start + length;
    let rest = buffer.get_mut(from..).unwrap_or_default();
    let found = match frame {
        Length::Known(length) => (rest.len() >= length).then_some((length, length)),
        Length::Chunked => chunked.join(rest, limits)?,
    };
    let whole = |(length, taken)| Head { body: from..from + length, end: from + taken, ..head };
    Ok(found.map(whole).map_or(Parsed::Partial { expects_continue }, Parsed::Complete))
}

/// Returns the length of the head, if it has arrived whole.
fn length(
    parsed: httparse::Result<usize>,
    arrived: usize,
    limits: &HttpLimits,
) -> Result<Option<usize>, MessageError> {
    match parsed {
        Ok(Status::Complete(length)) if length <= limits.head_bytes => Ok(Some(length)),
        Ok(Status::Partial) if arrived < limits.head_bytes => Ok(None),
        Ok(_) => Err(HEAD_TOO_LARGE),
        Err(Error::TooManyHeaders) => Err(error(431, "too many header fields")),
        Err(_) => Err(error(400, "malformed HTTP request")),
    }
}

impl<'b> Fields<'b> {
    fn parse(
        fields: &[httparse::Header<'b>],
        is_http11: bool,
        limits: &HttpLimits,
    ) -> Result<Fields<'b>, MessageError> {
        let mut parsed = Fields::default();
        for field in fields {
            parsed.read(field.name, field.value, limits)?;
        }
        if parsed.length == Some(Length::Chunked) && !is_http11 {
            return Err(error(400, "transfer-encoding is not part of HTTP/1.0"));
        }
        match parsed.hosts {
            0 if is_http11 => Err(error(400, "missing Host header")),
            0 | 1 => Ok(parsed),
            _ => Err(error(400, "more than one Host header")),
        }
    }

    fn read(
        &mut self,
        name: &str,
        value: &'b [u8],
        limits: &HttpLimits,
    ) -> Result<(), MessageError> {
        // Few fields matter, and their lengths tell them from nearly all others.
        match name.len() {
            4 if is(name, "host") => {
                if !value.iter().all(|byte| is_host_byte(*byte)) {
                    return Err(error(400, "invalid Host header"));
                }
                self.hosts += 1;
            }
            6 if is(name, "expect") => {
                self.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
                if !self.expects_continue {
                    return Err(error(417, "unsupported Expect header; expected 100-continue"));
                }
            }
            6 if is(name, "origin") => self.has_origin = true,
            10 if is(name, "connection") => self.connection(value),
            11 if is(name, trace::TRACEPARENT) => self.trace = Some(value),
            12 if is(name, "content-type") => self.is_json = is_json(value),
            14 if is(name, "content-length") => {
                let length = number(value).ok_or(error(400, "invalid Content-Length header"))?;
                if length > limits.body_bytes {
                    return Err(TOO_LARGE);
                }
                return self.length(Length::Known(length));
            }
            17 if is(name, "transfer-encoding") => {
                if !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(error(
                        501,
                        "unsupported Transfer-Encoding header; expected chunked",
                    ));
                }
                return self.length(Length::Chunked);
            }
            _ => {}
        }
        Ok(())
    }

    /// A second length is refused: proxies in front of us might believe the other one (request smuggling).
    fn length(&mut self, length: Length) -> Result<(), MessageError> {
        match self.length.replace(length) {
            None => Ok(()),
            Some(_) => Err(error(400, "more than one body length")),
        }
    }

    fn connection(&mut self, value: &[u8]) {
        for word in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            self.closes |= word.eq_ignore_ascii_case(b"close");
            self.keeps_alive |= word.eq_ignore_ascii_case(b"keep-alive");
        }
    }
}

/// Returns whether a byte may occur in the Host header.
fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:%[]".contains(&byte)
}

fn is(name: &str, known: &str) -> bool {
    name.eq_ignore_ascii_case(known)
}

/// Parses digits and nothing else. A number that does not fit is larger than any body may be.
fn number(value: &[u8]) -> Option<usize> {
    let is_plain = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok().filter(|_| is_plain)?;
    text.parse().ok().or(Some(usize::MAX))
}
