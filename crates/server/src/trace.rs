//! Tracing spans of HTTP requests.
//!
//! Spans exist only with the feature `otel`; without it they cost nothing.

#[cfg(feature = "otel")]
use std::collections::HashMap;

use hyper::HeaderMap;
use hyper::header::HeaderName;
use tracing::Span;

/// Creates the span of one HTTP request. It continues the client's trace if the request has a
/// `traceparent` header.
#[cfg(feature = "otel")]
pub(crate) fn request(path: &str, parent: Option<&str>) -> Span {
    use opentelemetry::propagation::TextMapPropagator as _;
    use opentelemetry_sdk::propagation::TraceContextPropagator;
    use tracing::field::Empty;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    let span = tracing::info_span!(
        "request",
        otel.kind = "server",
        url.path = path,
        http.response.status_code = Empty
    );
    if let Some(parent) = parent {
        let carrier = HashMap::from([(TRACEPARENT.to_string(), parent.to_owned())]);
        // This fails if no subscriber collects spans; then there is no trace to continue.
        let _ = span.set_parent(TraceContextPropagator::new().extract(&carrier));
    }
    span
}

#[cfg(not(feature = "otel"))]
pub(crate) fn request(_path: &str, _parent: Option<&str>) -> Span {
    Span::none()
}

/// Records the status of the response.
pub(crate) fn record_status(span: &Span, status: u16) {
    span.record("http.response.status_code", i64::from(status));
}

/// The header that carries the client's trace context.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Returns the client's trace context.
pub(crate) fn parent(fields: &HeaderMap) -> Option<&str> {
    fields.get(TRACEPARENT)?.to_str().ok()
}
