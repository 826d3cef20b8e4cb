//! HTTP/2 with prior knowledge.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "http2/backpressure.rs"]
mod backpressure;
#[path = "http2/frames.rs"]
mod frames;
#[path = "http2/protocol_errors.rs"]
mod protocol_errors;
#[path = "http2/shutdown.rs"]
mod shutdown;
#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body, Bytes, Frame};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use support::http::{Response, get, post};
use support::{Client, policy};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tollgate_server::{HttpLimits, Server};

/// A body that never ends.
struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

type RequestBody = Either<Full<Bytes>, Endless>;
type Sender = SendRequest<RequestBody>;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

async fn connect(server: &Server) -> Sender {
    let stream = TcpStream::connect(server.http().unwrap()).await.unwrap();
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn request(method: &str, target: &str, body: RequestBody) -> hyper::Request<RequestBody> {
    let uri = format!("http://t{target}");
    let request = hyper::Request::builder().method(method).uri(uri);
    request.header("content-type", "application/json").body(body).unwrap()
}

/// Sends a request. Returns the response without its date.
async fn send(sender: &mut Sender, request: hyper::Request<RequestBody>) -> Response {
    sender.ready().await.unwrap();
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    let headers = head.headers.iter().filter(|(name, _)| *name != "date");
    let headers =
        headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    let headers = headers.collect();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    Response { status: head.status.as_u16(), headers, body: String::from_utf8(body).unwrap() }
}

async fn fetch(sender: &mut Sender, method: &str, target: &str, body: &str) -> Response {
    let body = Either::Left(Full::from(body.to_owned()));
    send(sender, request(method, target, body)).await
}

fn server(limits: HttpLimits) -> Server {
    support::http::server()
        .http_limits(limits)
        .policy(policy("default", &["gcra 1/s burst 5"]))
        .policy(policy("many", &["fixed-window 500/h"]))
        .policy(policy("login", &["fixed-window 3/h per ip", "gcra 1/s burst 5 per user"]))
        .start()
        .unwrap()
}

/// Method, target and body of requests.
const REQUESTS: [(&str, &str, &str); 20] = [
    ("POST", "/v1/check", "{\"key\":\"a\",\"cost\":4}"),
    ("POST", "/v1/check", "{\"key\":\"a\",\"cost\":4}"),
    ("POST", "/v1/check", "{\"key\":\"a\",\"cost\":9}"),
    ("POST", "/v1/peek", "{\"policy\":\"login\",\"keys\":{\"ip\":\"1\",\"user\":\"2\"}}"),
    ("POST", "/v1/reset", "{\"key\":\"a\"}"),
    ("POST", "/v1/check/batch", "{\"checks\":[{\"key\":\"b\"},{\"key\":\"b\",\"cost\":5}]}"),
    ("POST", "/v1/check/batch", "{\"checks\":[]}"),
    ("POST", "/v1/check", "{\"key\":"),
    ("POST", "/v1/check", "{\"key\":\"\"}"),
    ("POST", "/v1/check", "{\"policy\":\"nope\",\"key\":\"a\"}"),
    ("GET", "/check?key=c&cost=5", ""),
    ("GET", "/check?key=c&deny_status=403", ""),
    ("PUT", "/check?key=c&peek=1", "a body"),
    ("GET", "/check?key=%ff%00", ""),
    ("GET", "/v1/check", ""),
    ("POST", "/healthz", ""),
    ("GET", "/healthz", ""),
    ("GET", "/readyz", ""),
    ("GET", "/v1/policies", ""),
    ("GET", "/nowhere", ""),
];

/// Sends the same requests to two servers, to one of them over HTTP/1.
#[test]
fn responses_are_the_same_as_over_http1() {
    let [one, two] = [(); 2].map(|()| server(HttpLimits::default()));
    let mut client = Client::http(&one);
    runtime().block_on(async {
        let mut sender = connect(&two).await;
        for (method, target, body) in REQUESTS {
            client.send(format!(
                "{method} {target} HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            ));
            let mut expected = client.response();
            expected.headers.retain(|(name, _)| name != "date");
            expected.headers.sort();
            let mut received = fetch(&mut sender, method, target, body).await;
            received.headers.sort();
            assert_eq!(received, expected, "{method} {target} {body}");
        }
    });
}

#[test]
fn a_response_to_head_has_no_body() {
    let server = server(HttpLimits::default());
    runtime().block_on(async {
        let mut sender = connect(&server).await;
        for (target, length) in [("/healthz", "3"), ("/check?key=a", "0"), ("/nowhere", "98")] {
            let response = fetch(&mut sender, "HEAD", target, "").await;
            assert_eq!(
                (response.body.as_str(), response.header("content-length")),
                ("", Some(length))
            );
        }
    });
}

#[test]
fn the_body_size_is_limited() {
    let mut limits = HttpLimits::default();
    limits.body_bytes = 100_000;
    let server = server(limits);
    let padded = |bytes: usize| format!("{{\"key\":\"k\"{}}}", " ".repeat(bytes - 11));
    runtime().block_on(async {
        let mut sender = connect(&server).await;
        assert_eq!(fetch(&mut sender, "POST", "/v1/peek", &padded(100_000)).await.status, 200);
        for bytes in [100_001, 200_000, 5_000_000] {
            let response = fetch(&mut sender, "POST", "/v1/peek", &padded(bytes)).await;
            assert_eq!(response.status, 413, "{bytes}");
            assert_eq!(
                response.json()["detail"],
                "request body too large; expected at most 100000 bytes"
            );
        }
        // Other requests on the same connection go on.
        assert_eq!(fetch(&mut sender, "GET", "/healthz", "").await.status, 200);
    });
}

#[test]
fn an_incomplete_body_times_out() {
    let mut limits = HttpLimits::default();
    limits.timeout = Duration::from_millis(200);
    let server = server(limits);
    runtime().block_on(async {
        let mut sender = connect(&server).await;
        let late = request("POST", "/v1/check", Either::Right(Endless));
        let response = send(&mut sender, late).await;
        assert_eq!((response.status, &response.json()["status"]), (408, &json!(408)));
        assert_eq!(fetch(&mut sender, "GET", "/healthz", "").await.status, 200);
    });
}

/// Only idle connections time out.
#[test]
fn requests_reset_the_idle_timeout() {
    let mut limits = HttpLimits::default();
    limits.idle = Duration::from_millis(50);
    let server = server(limits);
    runtime().block_on(async {
        let (begin, mut sender) = (Instant::now(), connect(&server).await);
        while begin.elapsed() < Duration::from_millis(500) {
            assert_eq!(fetch(&mut sender, "GET", "/healthz", "").await.status, 200);
        }
    });
}

/// More concurrent requests than streams: the rest wait, and none is lost.
#[test]
fn concurrent_checks_never_exceed_the_limit() {
    let mut limits = HttpLimits::default();
    limits.streams = 16;
    let server = server(limits);
    runtime().block_on(async {
        let mut sender = connect(&server).await;
        // After this response the client knows the settings of the server.
        assert_eq!(fetch(&mut sender, "GET", "/healthz", "").await.status, 200);
        let all: Vec<_> = (0..1_000)
            .map(|number| {
                let mut sender = sender.clone();
                tokio::spawn(async move {
                    let body = "{\"policy\":\"many\",\"key\":\"hot\"}";
                    match number % 2 {
                        0 => fetch(&mut sender, "POST", "/v1/check", body).await.status,
                        _ => {
                            fetch(&mut sender, "GET", "/check?policy=many&key=hot", "").await.status
                        }
                    }
                })
            })
            .collect();
        let mut statuses = Vec::new();
        for one in all {
            statuses.push(one.await.unwrap());
        }
        let count = |status: u16| statuses.iter().filter(|received| **received == status).count();
        assert_eq!((count(200), count(429)), (500, 500));
    });
}

/// Both versions are served on the same port at the same time.
#[test]
fn both_versions_share_the_counts() {
    let server = server(HttpLimits::default());
    let mut client = Client::http(&server);
    runtime().block_on(async {
        let mut sender = connect(&server).await;
        for left in [4, 2, 0] {
            let response = fetch(&mut sender, "GET", "/check?key=a", "").await;
            let expected = format!("\"default\";r={left};t={}", 5 - left);
            assert_eq!(response.header("ratelimit"), Some(expected.as_str()));
            client.send(post("/v1/check", "{\"key\":\"a\"}"));
            assert_eq!(client.response().status, if left > 0 { 200 } else { 429 });
        }
        client.send(get("/metrics"));
        let page = client.response().body;
        assert!(page.contains("tollgate_connections{protocol=\"http\"} 2\n"), "{page}");
    });
}
