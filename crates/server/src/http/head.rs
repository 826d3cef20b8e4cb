//! The head of a request of HTTP/1: what it operations, and how much follows.

use std::mem::MaybeUninit;
use std::ops::Range;

use httparse::{Error, Status};

use super::chunked::Pieces;
use super::{Method, Request, is_json};
use crate::limits::{HttpLimits, MAX_HEADERS};
use crate::trace;

/// Where a request is in the buffer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) method: Method,
    target: Range<usize>,
    is_json: bool,
    has_origin: bool,
    trace: Option<Range<usize>>,
    body: Range<usize>,
    /// Whether it is of HTTP/1.0.
    pub(super) is_old: bool,
    /// Whether another may follow.
    pub(super) keeps_alive: bool,
    /// Where the next one begins.
    pub(super) end: usize,
}

/// How far a request was read.
#[derive(Debug)]
pub(super) enum Step {
    Whole(Head),
    /// There is more to come; whether the client waits to be told to send it.
    Part {
        expects: bool,
    },
}

/// Why a connection cannot go on: what follows would be misread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) status: u16,
    pub(super) why: &'static str,
}

const fn broken(status: u16, why: &'static str) -> Broken {
    Broken { status, why }
}

pub(super) const TOO_LONG: Broken = broken(431, "the head of the request is too long");
pub(super) const TOO_LARGE: Broken = broken(413, "the body of the request is too large");

/// How long the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Known(usize),
    Chunked,
}

/// What the fields of a head say about the message itself.
#[derive(Debug, Default)]
struct Framing<'b> {
    length: Option<Length>,
    hosts: usize,
    closes: bool,
    keeps_alive: bool,
    expects: bool,
    is_json: bool,
    has_origin: bool,
    trace: Option<&'b [u8]>,
}

impl Head {
    /// The request, in the buffer it was found in.
    pub(super) fn request<'b>(&self, buffer: &'b [u8]) -> Request<'b> {
        let text = |place: &Range<usize>| {
            let bytes = buffer.get(place.clone()).unwrap_or_default();
            std::str::from_utf8(bytes).ok()
        };
        Request {
            method: self.method,
            // It was text when it was found.
            target: text(&self.target).unwrap_or_default(),
            trace: self.trace.as_ref().and_then(text),
            is_json: self.is_json,
            has_origin: self.has_origin,
            body: buffer.get(self.body.clone()).unwrap_or_default(),
        }
    }
}

impl Head {
    /// Whether something is to be looked at, whose answer may be long: it is sent before more is read.
    pub(super) fn is_look(&self, buffer: &[u8]) -> bool {
        let is_check = || self.request(buffer).target.starts_with("/check");
        matches!(self.method, Method::Get | Method::Head) && !is_check()
    }
}

/// Finds the request that begins at `start`. The pieces of a body that came in pieces are put together
/// in their place, from where they were read last.
///
/// # Errors
/// If there is none.
pub(super) fn find(
    buffer: &mut [u8],
    start: usize,
    pieces: &mut Pieces,
    bounds: &HttpLimits,
) -> Result<Step, Broken> {
    let bytes = buffer.get(start..).unwrap_or_default();
    let mut fields = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let fields = fields.get_mut(..bounds.headers).unwrap_or_default();
    let mut request = httparse::Request::new(&mut []);
    let parsed = request.parse_with_uninit_headers(bytes, fields);
    let Some(length) = length(parsed, bytes.len(), bounds)? else {
        return Ok(Step::Part { expects: false });
    };
    let is_new = request.version == Some(1);
    let framing = Framing::of(request.headers, is_new, bounds)?;
    let place = |part: &[u8]| {
        let at = part.as_ptr().addr() - bytes.as_ptr().addr() + start;
        at..at + part.len()
    };
    let head = Head {
        method: Method::named(request.method.unwrap_or_default()),
        target: place(request.path.unwrap_or_default().as_bytes()),
        is_json: framing.is_json,
        has_origin: framing.has_origin,
        trace: framing.trace.map(place),
        body: 0..0,
        is_old: !is_new,
        keeps_alive: !framing.closes && (is_new || framing.keeps_alive),
        end: 0,
    };
    // Whoever is that old does not know what it would be told.
    let expects = framing.expects && is_new;
    let frame = framing.length.unwrap_or(Length::Known(0));
    let from = start + length;
    let rest = buffer.get_mut(from..).unwrap_or_default();
    let found = match frame {
        Length::Known(length) => (rest.len() >= length).then_some((length, length)),
        Length::Chunked => pieces.join(rest, bounds)?,
    };
    let whole = |(length, taken)| Head { body: from..from + length, end: from + taken, ..head };
    Ok(found.map(whole).map_or(Step::Part { expects }, Step::Whole))
}

/// How long the head is, if it has come whole.
fn length(
    parsed: httparse::Result<usize>,
    came: usize,
    bounds: &HttpLimits,
) -> Result<Option<usize>, Broken> {
    match parsed {
        Ok(Status::Complete(length)) if length <= bounds.head_bytes => Ok(Some(length)),
        Ok(Status::Partial) if came < bounds.head_bytes => Ok(None),
        Ok(_) => Err(TOO_LONG),
        Err(Error::TooManyHeaders) => Err(broken(431, "there are too many header fields")),
        Err(_) => Err(broken(400, "this is not HTTP")),
    }
}

impl<'b> Framing<'b> {
    fn of(
        fields: &[httparse::Header<'b>],
        is_new: bool,
        bounds: &HttpLimits,
    ) -> Result<Framing<'b>, Broken> {
        let mut framing = Framing::default();
        for field in fields {
            framing.read(field.name, field.value, bounds)?;
        }
        if framing.length == Some(Length::Chunked) && !is_new {
            return Err(broken(400, "HTTP/1.0 knows no transfer-encoding"));
        }
        match framing.hosts {
            0 if is_new => Err(broken(400, "there is no host")),
            0 | 1 => Ok(framing),
            _ => Err(broken(400, "there are several hosts")),
        }
    }

    fn read(&mut self, name: &str, value: &'b [u8], bounds: &HttpLimits) -> Result<(), Broken> {
        // Few fields matter; their lengths tell nearly all others apart.
        match name.len() {
            4 if is(name, "host") => {
                if !value.iter().all(|byte| is_of_host(*byte)) {
                    return Err(broken(400, "the host is none"));
                }
                self.hosts += 1;
            }
            6 if is(name, "expect") => {
                self.expects = value.eq_ignore_ascii_case(b"100-continue");
                if !self.expects {
                    return Err(broken(417, "only 100-continue can be expected"));
                }
            }
            6 if is(name, "origin") => self.has_origin = true,
            10 if is(name, "connection") => self.connection(value),
            11 if is(name, trace::TRACEPARENT) => self.trace = Some(value),
            12 if is(name, "content-type") => self.is_json = is_json(value),
            14 if is(name, "content-length") => {
                let length = number(value).ok_or(broken(400, "content-length is no number"))?;
                if length > bounds.body_bytes {
                    return Err(TOO_LARGE);
                }
                return self.length(Length::Known(length));
            }
            17 if is(name, "transfer-encoding") => {
                if !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(broken(501, "only chunked is known as transfer-encoding"));
                }
                return self.length(Length::Chunked);
            }
            _ => {}
        }
        Ok(())
    }

    /// It is said once: whoever hears it twice may believe one, and others the other.
    fn length(&mut self, length: Length) -> Result<(), Broken> {
        match self.length.replace(length) {
            None => Ok(()),
            Some(_) => Err(broken(400, "the length of the body is given twice")),
        }
    }

    fn connection(&mut self, value: &[u8]) {
        for word in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            self.closes |= word.eq_ignore_ascii_case(b"close");
            self.keeps_alive |= word.eq_ignore_ascii_case(b"keep-alive");
        }
    }
}

/// Whether a byte can stand in the name or the address of a host, or in its port.
fn is_of_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:%[]".contains(&byte)
}

fn is(name: &str, known: &str) -> bool {
    name.eq_ignore_ascii_case(known)
}

/// Digits and nothing else; what is too long for any body is no number either.
fn number(value: &[u8]) -> Option<usize> {
    let is_plain = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok().filter(|_| is_plain)?;
    text.parse().ok().or(Some(usize::MAX))
}
