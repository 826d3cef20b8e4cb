//! The head of a request: what hyper leaves to its callers to check, and what its fields say.

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Version};

use super::rejection::Rejection;
use super::response::JSON;

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

/// Returns whether `content-type` says that the body is JSON, whatever its parameters.
pub(super) fn is_json(fields: &HeaderMap) -> bool {
    let Some(content_type) = fields.get(CONTENT_TYPE) else { return false };
    let essence = content_type.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(JSON.as_bytes())
}
