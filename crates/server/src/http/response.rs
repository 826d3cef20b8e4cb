//! A response, whatever version of the protocol carries it.

use std::sync::Arc;

use hyper::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue,
};
use hyper::{HeaderMap, Method, StatusCode};

use super::response_body::{ResponseBody, Unsent};

/// The media type of JSON.
pub(super) const JSON: &str = "application/json";

/// Size of a body that most decisions fit into.
const USUAL_BODY_BYTES: usize = 256;
/// A map with room for more fields than this is not reused: idle connections would keep it.
const MAX_REUSED_FIELDS: usize = 32;

/// A response.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    content_type: &'static str,
    fields: HeaderMap,
    /// Whether the connection is closed after it.
    pub(super) closes: bool,
    pub(super) body: String,
}

impl Response {
    /// Creates a response in the memory of header fields that are not needed any more, usually those of the
    /// request: hyper parses the next request into it again, so that no request allocates a map.
    pub(super) fn reusing(mut fields: HeaderMap) -> Response {
        if fields.capacity() > MAX_REUSED_FIELDS {
            fields = HeaderMap::new();
        }
        fields.clear();
        let body = String::with_capacity(USUAL_BODY_BYTES);
        Response { status: 500, content_type: "", fields, closes: false, body }
    }

    /// Starts over with this status.
    pub(super) fn begin(&mut self, status: u16, content_type: &'static str) {
        self.status = status;
        self.content_type = content_type;
        self.fields.clear();
        self.body.clear();
    }

    /// Adds a header field. A value that no header can have is left out.
    pub(super) fn field(&mut self, name: &'static str, value: &str) {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.fields.append(HeaderName::from_static(name), value);
        }
    }

    /// Says that no cache may keep it, and allocates nothing for that.
    pub(super) fn no_store(&mut self) {
        self.fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }

    /// Converts it for hyper, which adds `date`, and `content-length` where the body is sent.
    pub(super) fn into_hyper(
        mut self,
        method: &Method,
        unsent: Option<&Arc<Unsent>>,
    ) -> hyper::Response<ResponseBody> {
        if self.body.is_empty() {
            self.fields.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        } else {
            self.fields.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        }
        if self.closes {
            self.fields.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if method == Method::HEAD {
            self.fields.insert(CONTENT_LENGTH, self.body.len().into());
            self.body.clear();
        }
        let mut response = hyper::Response::new(ResponseBody::new(self.body, unsent));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        *response.headers_mut() = self.fields;
        response
    }
}
