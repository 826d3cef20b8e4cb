//! Problem details (RFC 9457): bodies of error responses.

use crate::json::push_string;
use crate::number::push_number;

/// Registry of the problem types of the IETF draft.
const REGISTRY: &str = "https://iana.org/assignments/http-problem-types";

/// The body of an error response: `application/problem+json`, RFC 9457.
///
/// ```
/// use tollgate_http::Problem;
///
/// let problem = Problem::quota_exceeded("login").detail("Try again in 31 seconds.");
/// assert_eq!(problem.status(), 429);
///
/// let mut body = String::new();
/// problem.write_to(&mut body);
/// assert_eq!(body, concat!(
///     r#"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","#,
///     r#""title":"Quota Exceeded","status":429,"detail":"Try again in 31 seconds.","#,
///     r#""violated-policies":["login"]}"#,
/// ));
/// ```
///
/// Responses with status 429 must not be cached: send them with `cache-control: no-store`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem<'a> {
    /// Fragment of the type URI; `None` for `about:blank`.
    fragment: Option<&'static str>,
    title: &'a str,
    status: u16,
    detail: Option<&'a str>,
    violated: Option<&'a str>,
}

impl<'a> Problem<'a> {
    /// The `content-type` of the body.
    pub const CONTENT_TYPE: &'static str = "application/problem+json";

    /// Creates a problem with status 429: the client has used up its quota. `violated` is the name
    /// of the limit in the header fields, which
    /// [`RateLimitHeaders::limit_name`](crate::RateLimitHeaders::limit_name) returns.
    #[must_use]
    pub fn quota_exceeded(violated: &'a str) -> Problem<'a> {
        Problem::of("quota-exceeded", "Quota Exceeded", 429).violated(violated)
    }

    /// Creates a problem with status 503: capacity is reduced for all clients, or unknown.
    #[must_use]
    pub const fn temporary_reduced_capacity() -> Problem<'a> {
        Problem::of("temporary-reduced-capacity", "Temporary Reduced Capacity", 503)
    }

    /// Creates a problem with status 429: the client is blocked because of its behaviour.
    #[must_use]
    pub const fn abnormal_usage_detected() -> Problem<'a> {
        Problem::of("abnormal-usage-detected", "Abnormal Usage Detected", 429)
    }

    /// Creates a problem of type `about:blank`: `title` should be the reason phrase of the status.
    ///
    /// ```
    /// use tollgate_http::Problem;
    ///
    /// let mut body = String::new();
    /// Problem::plain(404, "Not Found").write_to(&mut body);
    /// assert_eq!(body, r#"{"type":"about:blank","title":"Not Found","status":404}"#);
    /// ```
    #[must_use]
    pub const fn plain(status: u16, title: &'a str) -> Problem<'a> {
        Problem { fragment: None, title, status, detail: None, violated: None }
    }

    const fn of(fragment: &'static str, title: &'static str, status: u16) -> Problem<'a> {
        Problem { fragment: Some(fragment), title, status, detail: None, violated: None }
    }

    /// Sets an explanation of this occurrence, for people to read.
    #[must_use]
    pub const fn detail(self, detail: &'a str) -> Problem<'a> {
        Problem { detail: Some(detail), ..self }
    }

    /// Sets the name of the policy that was violated.
    #[must_use]
    pub const fn violated(self, policy: &'a str) -> Problem<'a> {
        Problem { violated: Some(policy), ..self }
    }

    /// Sets another status, for servers that must deny with 403.
    #[must_use]
    pub const fn with_status(self, status: u16) -> Problem<'a> {
        Problem { status, ..self }
    }

    /// Returns the status of the response; the body repeats it.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Appends the body, one line of JSON.
    pub fn write_to(&self, out: &mut String) {
        out.push_str("{\"type\":");
        self.write_type(out);
        out.push_str(",\"title\":");
        push_string(out, self.title);
        out.push_str(",\"status\":");
        push_number(out, self.status.into());
        if let Some(detail) = self.detail {
            out.push_str(",\"detail\":");
            push_string(out, detail);
        }
        if let Some(policy) = self.violated {
            out.push_str(",\"violated-policies\":[");
            push_string(out, policy);
            out.push(']');
        }
        out.push('}');
    }

    // The type is a constant and needs no escapes.
    fn write_type(&self, out: &mut String) {
        let parts = match self.fragment {
            Some(fragment) => ["\"", REGISTRY, "#", fragment, "\""],
            None => ["\"", "about:blank", "", "", "\""],
        };
        out.extend(parts);
    }
}
