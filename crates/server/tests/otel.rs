//! Requests continue the client's trace.

#![cfg(feature = "otel")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Key, Value};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tollgate_server::Server;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

fn get(server: &Server, target: &str, headers: &str) {
    let mut stream = TcpStream::connect(server.http().unwrap()).unwrap();
    let head = format!("GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_request_continues_the_trace_of_the_client() {
    let spans = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    tracing_subscriber::registry().with(layer).init();
    let server = Server::builder().http("127.0.0.1:0".parse().unwrap()).start().unwrap();

    get(&server, "/healthz?secret=1", &format!("traceparent: 00-{TRACE}-{PARENT}-01\r\n"));
    get(&server, "/nowhere", "traceparent: nonsense\r\n");

    let finished = spans.get_finished_spans().unwrap();
    let [first, second] = finished.as_slice() else { panic!("{finished:?}") };
    assert_eq!(first.span_context.trace_id().to_string(), TRACE);
    assert_eq!(first.parent_span_id.to_string(), PARENT);
    let attribute = |span: &opentelemetry_sdk::trace::SpanData, name: &'static str| {
        let found = span.attributes.iter().find(|pair| pair.key == Key::new(name));
        found.map(|pair| pair.value.clone())
    };
    assert_eq!(
        attribute(first, "url.path"),
        Some(Value::from("/healthz")),
        "the query is not recorded"
    );
    assert_eq!(attribute(first, "http.response.status_code"), Some(Value::from(200)));
    assert_eq!(attribute(second, "http.response.status_code"), Some(Value::from(404)));
    assert_ne!(second.span_context.trace_id().to_string(), TRACE);
}
