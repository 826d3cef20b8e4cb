//! HTTP/2, for clients that know that it is spoken.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "http_two/bytes.rs"]
mod bytes;
#[path = "http_two/frames.rs"]
mod frames;
#[path = "http_two/stop.rs"]
mod stop;
#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;
#[path = "http_two/unread.rs"]
mod unread;

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body, Bytes, Frame};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use support::http::{Answer, get, post};
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

type Sent = Either<Full<Bytes>, Endless>;
type Sender = SendRequest<Sent>;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

async fn connect(server: &Server) -> Sender {
    let stream = TcpStream::connect(server.http().unwrap()).await.unwrap();
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn request(method: &str, target: &str, body: Sent) -> hyper::Request<Sent> {
    let uri = format!("http://t{target}");
    let request = hyper::Request::builder().method(method).uri(uri);
    request.header("content-type", "application/json").body(body).unwrap()
}

/// What is answered, without its date.
async fn ask(sender: &mut Sender, request: hyper::Request<Sent>) -> Answer {
    sender.ready().await.unwrap();
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    let fields = head.headers.iter().filter(|(name, _)| *name != "date");
    let fields = fields.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    let fields = fields.collect();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    Answer { status: head.status.as_u16(), fields, body: String::from_utf8(body).unwrap() }
}

async fn asked(sender: &mut Sender, method: &str, target: &str, body: &str) -> Answer {
    let body = Either::Left(Full::from(body.to_owned()));
    ask(sender, request(method, target, body)).await
}

fn server(bounds: HttpLimits) -> Server {
    support::http::server()
        .http_limits(bounds)
        .policy(policy("default", &["gcra 1/s burst 5"]))
        .policy(policy("many", &["fixed-window 500/h"]))
        .policy(policy("login", &["fixed-window 3/h per ip", "gcra 1/s burst 5 per user"]))
        .start()
        .unwrap()
}

/// A request, and its body.
const ASKED: [(&str, &str, &str); 20] = [
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

/// Two servers hear the same, one of them in HTTP/1.
#[test]
fn it_says_the_same_as_http_one() {
    let [one, two] = [(); 2].map(|()| server(HttpLimits::default()));
    let mut client = Client::http(&one);
    runtime().block_on(async {
        let mut sender = connect(&two).await;
        for (method, target, body) in ASKED {
            client.send(format!(
                "{method} {target} HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            ));
            let mut expected = client.answer();
            expected.fields.retain(|(name, _)| name != "date");
            expected.fields.sort();
            let mut came = asked(&mut sender, method, target, body).await;
            came.fields.sort();
            assert_eq!(came, expected, "{method} {target} {body}");
        }
    });
}

#[test]
fn a_head_has_no_body() {
    let server = server(HttpLimits::default());
    runtime().block_on(async {
        let mut sender = connect(&server).await;
        for (target, length) in [("/healthz", "3"), ("/check?key=a", "0"), ("/nowhere", "107")] {
            let answer = asked(&mut sender, "HEAD", target, "").await;
            assert_eq!((answer.body.as_str(), answer.field("content-length")), ("", Some(length)));
        }
    });
}

#[test]
fn a_body_has_a_bound() {
    let mut bounds = HttpLimits::default();
    bounds.body_bytes = 100_000;
    let server = server(bounds);
    let padded = |bytes: usize| format!("{{\"key\":\"k\"{}}}", " ".repeat(bytes - 11));
    runtime().block_on(async {
        let mut sender = connect(&server).await;
        assert_eq!(asked(&mut sender, "POST", "/v1/peek", &padded(100_000)).await.status, 200);
        for bytes in [100_001, 200_000, 5_000_000] {
            let answer = asked(&mut sender, "POST", "/v1/peek", &padded(bytes)).await;
            assert_eq!(answer.status, 413, "{bytes}");
            assert_eq!(answer.json()["detail"], "the body of the request is too large");
        }
        // Others of the same connection go on.
        assert_eq!(asked(&mut sender, "GET", "/healthz", "").await.status, 200);
    });
}

#[test]
fn half_a_body_has_its_time() {
    let mut bounds = HttpLimits::default();
    bounds.timeout = Duration::from_millis(200);
    let server = server(bounds);
    runtime().block_on(async {
        let mut sender = connect(&server).await;
        let late = request("POST", "/v1/check", Either::Right(Endless));
        let answer = ask(&mut sender, late).await;
        assert_eq!((answer.status, &answer.json()["status"]), (408, &json!(408)));
        assert_eq!(asked(&mut sender, "GET", "/healthz", "").await.status, 200);
    });
}

/// Only silence has an end, however often someone asks.
#[test]
fn whoever_asks_is_not_silent() {
    let mut bounds = HttpLimits::default();
    bounds.idle = Duration::from_millis(50);
    let server = server(bounds);
    runtime().block_on(async {
        let (begin, mut sender) = (Instant::now(), connect(&server).await);
        while begin.elapsed() < Duration::from_millis(500) {
            assert_eq!(asked(&mut sender, "GET", "/healthz", "").await.status, 200);
        }
    });
}

/// More at once than there may be: the rest wait, and nobody is lost.
#[test]
fn many_streams_pass_exactly_as_many_as_may() {
    let mut bounds = HttpLimits::default();
    bounds.streams = 16;
    let server = server(bounds);
    runtime().block_on(async {
        let mut sender = connect(&server).await;
        // The settings of the server are known from here on.
        assert_eq!(asked(&mut sender, "GET", "/healthz", "").await.status, 200);
        let all: Vec<_> = (0..1_000)
            .map(|number| {
                let mut sender = sender.clone();
                tokio::spawn(async move {
                    let body = "{\"policy\":\"many\",\"key\":\"hot\"}";
                    match number % 2 {
                        0 => asked(&mut sender, "POST", "/v1/check", body).await.status,
                        _ => {
                            asked(&mut sender, "GET", "/check?policy=many&key=hot", "").await.status
                        }
                    }
                })
            })
            .collect();
        let mut statuses = Vec::new();
        for one in all {
            statuses.push(one.await.unwrap());
        }
        let count = |status: u16| statuses.iter().filter(|came| **came == status).count();
        assert_eq!((count(200), count(429)), (500, 500));
    });
}

/// Both versions are spoken at the same place at the same time.
#[test]
fn both_versions_count_together() {
    let server = server(HttpLimits::default());
    let mut client = Client::http(&server);
    runtime().block_on(async {
        let mut sender = connect(&server).await;
        for left in [4, 2, 0] {
            let answer = asked(&mut sender, "GET", "/check?key=a", "").await;
            let told = format!("\"default\";r={left};t={}", 5 - left);
            assert_eq!(answer.field("ratelimit"), Some(told.as_str()));
            client.send(post("/v1/check", "{\"key\":\"a\"}"));
            assert_eq!(client.answer().status, if left > 0 { 200 } else { 429 });
        }
        client.send(get("/metrics"));
        let page = client.answer().body;
        assert!(page.contains("tollgate_connections{protocol=\"http\"} 2\n"), "{page}");
    });
}
