//! HTTP: whole requests are read, decided in one call of the engine, and answered in one write.

mod call;
mod check_request;
mod handle;
mod http1;
mod http2;
mod json_body;
mod openapi;
mod pages;
mod query;
mod rejection;
mod request;
mod respond;
mod response;
mod routes;
mod service;

#[cfg(any(test, fuzzing))]
pub(crate) use http1::fuzzing;
pub(crate) use http1::serve;
pub(crate) use service::Service;

/// What a client is sent that exceeds the limit on connections.
pub(crate) const CONNECTION_REFUSED: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
