//! Requests that are not decided, and why.

use tollgate_core::StoreError;
use tollgate_http::Problem;

use super::head::Broken;
use super::response::Response;
use super::routes::NoRoute;
use crate::error::with_causes;

/// Why a request got no decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejection {
    status: u16,
    detail: String,
    /// The methods that there are, where that is what was wrong.
    allow: Option<&'static str>,
}

impl Rejection {
    fn new(status: u16, detail: impl Into<String>) -> Rejection {
        Rejection { status, detail: detail.into(), allow: None }
    }

    /// It cannot be read.
    pub(super) fn bad_request(detail: impl Into<String>) -> Rejection {
        Rejection::new(400, detail)
    }

    /// There is no such policy.
    pub(super) fn not_found(detail: impl Into<String>) -> Rejection {
        Rejection::new(404, detail)
    }

    /// A browser sends it for a page that someone visits.
    pub(super) fn of_page() -> Rejection {
        Rejection::new(403, "web pages are not answered; ask without the header origin")
    }

    /// A body of another kind.
    pub(super) fn no_json() -> Rejection {
        Rejection::new(415, "expected JSON, and the header content-type: application/json")
    }

    /// It can be read, but not done.
    pub(super) fn unfit(detail: impl Into<String>) -> Rejection {
        Rejection::new(422, detail)
    }

    /// Nobody new is served.
    pub(super) fn stopping() -> Rejection {
        Rejection::new(503, "the server stops")
    }

    /// Its end did not come in time.
    pub(super) fn late() -> Rejection {
        Rejection::new(408, "the rest of the request did not come in time")
    }

    /// Enough answers wait to be read.
    pub(super) fn unread() -> Rejection {
        Rejection::new(503, "answers of this connection are not read")
    }

    /// The same, for one of many.
    pub(super) fn at(self, place: usize) -> Rejection {
        Rejection { detail: format!("check {place}: {}", self.detail), ..self }
    }

    pub(super) fn write_to(&self, response: &mut Response) {
        response.begin(self.status, Problem::CONTENT_TYPE);
        if let Some(methods) = self.allow {
            response.field("allow", methods);
        }
        self.write_body(&mut response.body);
    }

    /// As `application/problem+json`.
    pub(super) fn write_body(&self, out: &mut String) {
        let problem = match self.status {
            503 => Problem::temporary_reduced_capacity(),
            status => Problem::plain(status, reason(status)),
        };
        problem.detail(&self.detail).write_to(out);
    }
}

impl From<Broken> for Rejection {
    fn from(broken: Broken) -> Rejection {
        Rejection::new(broken.status, broken.why)
    }
}

impl From<NoRoute> for Rejection {
    fn from(none: NoRoute) -> Rejection {
        match none {
            NoRoute::Path => Rejection::not_found("there is nothing here; see /openapi.json"),
            NoRoute::Method(allow) => {
                let detail = format!("this path knows only {allow}");
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

/// What a status is called.
pub(super) const fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "",
    }
}
