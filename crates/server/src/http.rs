//! HTTP: whole requests are read, decided in one call, and answered in one write.

mod backpressure;
mod body;
mod check_request;
mod chunked;
pub(crate) mod connection;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod handle;
mod head;
mod http2;
mod openapi;
mod pages;
mod pipeline;
mod query;
mod rejection;
mod response;
mod routes;

/// What is said of a body that is JSON.
const JSON: &str = "application/json";

/// A request that has arrived whole, by whatever version of the protocol.
#[derive(Debug, Clone, Copy)]
struct Request<'b> {
    method: Method,
    /// Path and query.
    target: &'b str,
    /// Whether the body says that it is JSON.
    is_json: bool,
    body: &'b [u8],
    /// Whether a browser sends it for a page.
    has_origin: bool,
    /// Which trace it belongs to, in the words of `traceparent`.
    trace: Option<&'b str>,
}

/// The methods that mean something here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Get,
    Head,
    Post,
    /// Any other.
    Other,
}

impl Method {
    fn named(name: &str) -> Method {
        match name {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            _ => Method::Other,
        }
    }
}

/// Whether a content type is that of JSON, whatever its parameters.
fn is_json(content_type: &[u8]) -> bool {
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(JSON.as_bytes())
}
