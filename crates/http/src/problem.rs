//! Bodies that say what went wrong.

use crate::json::push_string;
use crate::number::push_number;

/// Where the problem types of the IETF draft are registered.
const REGISTRY: &str = "https://iana.org/assignments/http-problem-types";

/// An answer that says what went wrong: `application/problem+json`, RFC 9457.
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
/// Answers of status 429 must not be cached: send them with `cache-control: no-store`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem<'a> {
    /// What stands after the `#`; `None` for a problem that is no more than its status.
    kind: Option<&'static str>,
    title: &'a str,
    status: u16,
    detail: Option<&'a str>,
    violated: Option<&'a str>,
}

impl<'a> Problem<'a> {
    /// What `content-type` such a body has.
    pub const CONTENT_TYPE: &'static str = "application/problem+json";

    /// The client has used what it was granted under the policy of this name: 429. The name is the
    /// one that stands in the header fields, which [`RateLimitHeaders::limit_name`](crate::RateLimitHeaders::limit_name)
    /// says.
    #[must_use]
    pub fn quota_exceeded(violated: &'a str) -> Problem<'a> {
        Problem::of("quota-exceeded", "Quota Exceeded", 429).violated(violated)
    }

    /// There is less for everyone now, or nobody can say how much there is: 503.
    #[must_use]
    pub const fn temporary_reduced_capacity() -> Problem<'a> {
        Problem::of("temporary-reduced-capacity", "Temporary Reduced Capacity", 503)
    }

    /// The client is kept out for what it did: 429.
    #[must_use]
    pub const fn abnormal_usage_detected() -> Problem<'a> {
        Problem::of("abnormal-usage-detected", "Abnormal Usage Detected", 429)
    }

    /// A problem that is no more than its status, with the phrase HTTP has for it.
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
        Problem { kind: None, title, status, detail: None, violated: None }
    }

    const fn of(kind: &'static str, title: &'static str, status: u16) -> Problem<'a> {
        Problem { kind: Some(kind), title, status, detail: None, violated: None }
    }

    /// The same, with what is particular to this time, for people to read.
    #[must_use]
    pub const fn detail(self, detail: &'a str) -> Problem<'a> {
        Problem { detail: Some(detail), ..self }
    }

    /// The same, naming the policy that was violated.
    #[must_use]
    pub const fn violated(self, policy: &'a str) -> Problem<'a> {
        Problem { violated: Some(policy), ..self }
    }

    /// The same under another status, for those who must deny with 403.
    #[must_use]
    pub const fn with_status(self, status: u16) -> Problem<'a> {
        Problem { status, ..self }
    }

    /// The status to answer with; the body repeats it.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Appends the body, which is one line of JSON.
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

    /// All of it is our own text and needs no escapes.
    fn write_type(&self, out: &mut String) {
        let parts = match self.kind {
            Some(kind) => ["\"", REGISTRY, "#", kind, "\""],
            None => ["\"", "about:blank", "", "", "\""],
        };
        out.extend(parts);
    }
}
