//! A request, whatever version of the protocol carried it.

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
    /// The header `traceparent`.
    pub(super) trace: Option<&'b str>,
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
    pub(super) fn from_name(name: &str) -> Method {
        match name {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            _ => Method::Other,
        }
    }
}

/// Returns whether a content type is JSON, whatever its parameters.
pub(super) fn is_json(content_type: &[u8]) -> bool {
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(JSON.as_bytes())
}
