//! Requests that get no decision, and why.

use tollgate_core::StoreError;
use tollgate_http::Problem;

use super::response::Response;
use super::routes::NoRoute;
use crate::error::with_causes;

/// Why a request got no decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejection {
    status: u16,
    detail: String,
    /// The methods that the path has, if the method was wrong.
    allow: Option<&'static str>,
}

impl Rejection {
    pub(super) fn new(status: u16, detail: impl Into<String>) -> Rejection {
        Rejection { status, detail: detail.into(), allow: None }
    }

    /// The request cannot be parsed.
    pub(super) fn bad_request(detail: impl Into<String>) -> Rejection {
        Rejection::new(400, detail)
    }

    /// There is no such policy.
    pub(super) fn not_found(detail: impl Into<String>) -> Rejection {
        Rejection::new(404, detail)
    }

    /// A browser sends it on behalf of a web page.
    pub(super) fn web_page() -> Rejection {
        Rejection::new(403, "requests from web pages are not accepted (header origin)")
    }

    /// The body is not JSON.
    pub(super) fn not_json() -> Rejection {
        Rejection::new(415, "expected a JSON body and the header content-type: application/json")
    }

    /// The request can be parsed, but a value in it is invalid.
    pub(super) fn invalid(detail: impl Into<String>) -> Rejection {
        Rejection::new(422, detail)
    }

    /// The server is about to stop.
    pub(super) fn stopping() -> Rejection {
        Rejection::new(503, "the server is shutting down")
    }

    /// The rest of the request did not arrive in time.
    pub(super) fn timed_out() -> Rejection {
        Rejection::new(408, "the rest of the request did not arrive in time")
    }

    /// The body is larger than this number of bytes.
    pub(super) fn body_too_large(max: usize) -> Rejection {
        Rejection::new(413, format!("request body too large; expected at most {max} bytes"))
    }

    /// A client takes this server for a proxy.
    pub(super) fn no_tunnel() -> Rejection {
        let detail = "CONNECT is not supported".to_owned();
        Rejection { status: 405, detail, allow: Some("GET, HEAD, POST") }
    }

    /// The body is encoded in a way that we do not know.
    pub(super) fn encoding() -> Rejection {
        Rejection::new(501, "unsupported Transfer-Encoding header; expected chunked")
    }

    /// Too many responses are pending on the connection.
    pub(super) fn unread() -> Rejection {
        Rejection::new(503, "too many responses on this connection are unread")
    }

    /// Adds which check of a batch it is about.
    pub(super) fn of_check(self, index: usize) -> Rejection {
        Rejection { detail: format!("check {index}: {}", self.detail), ..self }
    }

    pub(super) fn write_to(&self, response: &mut Response) {
        response.begin(self.status, Problem::CONTENT_TYPE);
        if let Some(methods) = self.allow {
            response.field("allow", methods);
        }
        self.write_body(&mut response.body);
    }

    /// Writes it as `application/problem+json`.
    pub(super) fn write_body(&self, out: &mut String) {
        let problem = match self.status {
            503 => Problem::temporary_reduced_capacity(),
            status => Problem::plain(status, reason(status)),
        };
        problem.detail(&self.detail).write_to(out);
    }
}

impl From<NoRoute> for Rejection {
    fn from(none: NoRoute) -> Rejection {
        match none {
            NoRoute::Path => Rejection::not_found("no such path; see /openapi.json"),
            NoRoute::Method(allow) => {
                let detail = format!("method not allowed; expected {allow}");
                Rejection { status: 405, detail, allow: Some(allow) }
            }
        }
    }
}

impl From<&StoreError> for Rejection {
    fn from(error: &StoreError) -> Rejection {
        let status = if error.is_malformed() || error.is_overdrawn() { 422 } else { 503 };
        Rejection::new(status, with_causes(error))
    }
}

/// Returns the reason phrase of a status.
const fn reason(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "",
    }
}
