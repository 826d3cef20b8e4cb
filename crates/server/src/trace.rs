//! Spans, for those who follow a request through many servers.
//!
//! Only with the feature `otel` is there anything to be followed; without it a span costs nothing.

#[cfg(feature = "otel")]
use std::collections::HashMap;

use tracing::Span;

/// The span of one request over HTTP. It goes on from the trace of whoever asked, if they said so.
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
        let carrier = HashMap::from([(PARENT.to_owned(), parent.to_owned())]);
        // If nobody collects spans, none goes on from another.
        let _ = span.set_parent(TraceContextPropagator::new().extract(&carrier));
    }
    span
}

#[cfg(not(feature = "otel"))]
pub(crate) fn request(_path: &str, _parent: Option<&str>) -> Span {
    Span::none()
}

/// How it was answered.
pub(crate) fn answered(span: &Span, status: u16) {
    span.record("http.response.status_code", i64::from(status));
}

/// The header field that says which trace a request belongs to.
pub(crate) const PARENT: &str = "traceparent";
