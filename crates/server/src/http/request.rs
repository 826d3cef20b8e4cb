//! A request, whatever version of the protocol carried it.

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, ORIGIN, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Version};

use super::rejection::Rejection;

/// The media type of JSON.
pub(super) const JSON: &str = "application/json";

/// A request that has arrived whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'b> {
    pub(super) method: Method,
    /// Path and query.
    pub(super) target: &'b str,
    /// Whether `content-type` says that the body is JSON.
    pub(super) is_json: bool,
    pub(super) body: &'b [u8],
    /// Whether the header `origin` is there, which browsers add for scripts of web pages.
    pub(super) has_origin: bool,
}

impl<'b> Request<'b> {
    pub(super) fn new(head: &'b Parts, fields: &HeaderMap, body: &'b [u8]) -> Request<'b> {
        Request {
            method: Method::new(&head.method),
            target: head.uri.path_and_query().map_or("/", |target| target.as_str()),
            is_json: fields.get(CONTENT_TYPE).is_some_and(|value| is_json(value.as_bytes())),
            body,
            has_origin: fields.contains_key(ORIGIN),
        }
    }

    /// Returns the target without its query.
    pub(super) fn path(&self) -> &'b str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// The methods that routes distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Post,
    Other,
}

impl Method {
    pub(super) fn new(method: &hyper::Method) -> Method {
        match *method {
            hyper::Method::GET => Method::Get,
            hyper::Method::HEAD => Method::Head,
            hyper::Method::POST => Method::Post,
            _ => Method::Other,
        }
    }
}

/// Checks what hyper leaves to its callers.
///
/// # Errors
/// Fails if another parser in front of us might read the head otherwise.
pub(super) fn check_head(head: &Parts, body: &Incoming) -> Result<(), Rejection> {
    // hyper would take any 2xx for the start of a tunnel, and the client would never see it.
    if head.method == hyper::Method::CONNECT {
        return Err(Rejection::no_tunnel());
    }
    // In HTTP/2 neither is needed: the target has the host, and frames have their lengths.
    if head.version == Version::HTTP_2 {
        return Ok(());
    }
    check_host(head)?;
    // The body has no known length, so it is chunked. hyper would also accept other encodings before that.
    if body.size_hint().exact().is_none() {
        let mut encodings = head.headers.get_all(TRANSFER_ENCODING).iter();
        let is_chunked = |value: &[u8]| value.trim_ascii().eq_ignore_ascii_case(b"chunked");
        let only = encodings.next().is_some_and(|value| is_chunked(value.as_bytes()));
        if !only || encodings.next().is_some() {
            return Err(Rejection::encoding());
        }
    }
    Ok(())
}

/// RFC 9112, section 3.2: a request has exactly one valid `host`, or may have none before HTTP/1.1.
fn check_host(head: &Parts) -> Result<(), Rejection> {
    let mut hosts = head.headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if head.version == Version::HTTP_11 => {
            Err(Rejection::bad_request("missing Host header"))
        }
        (_, Some(_)) => Err(Rejection::bad_request("more than one Host header")),
        (Some(host), None) if !host.as_bytes().iter().all(|byte| is_host_byte(*byte)) => {
            Err(Rejection::bad_request("invalid Host header"))
        }
        _ => Ok(()),
    }
}

/// Returns whether a byte may occur in the Host header.
fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:%[]".contains(&byte)
}

/// Returns whether a content type is JSON, whatever its parameters.
fn is_json(content_type: &[u8]) -> bool {
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(JSON.as_bytes())
}
