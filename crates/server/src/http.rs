//! HTTP/1 and HTTP/2, both by hyper. One path leads from a request to its response, whatever its version.

mod answer;
mod call;
mod check_request;
mod connection;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod handle;
mod head;
mod json_body;
mod openapi;
mod pages;
mod proxy_keys;
mod query;
mod rejection;
mod request_body;
mod respond;
mod response;
mod response_body;
mod routes;
mod serve;
mod service;

pub(crate) use serve::serve;
pub(crate) use service::Service;

/// What a client is sent that exceeds the limit on connections.
pub(crate) const CONNECTION_REFUSED: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// What a client is sent whose request head does not arrive in time.
const TIMED_OUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
