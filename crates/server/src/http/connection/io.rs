//! The bytes of a connection on their way from and to hyper.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper::body::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::Connection;

/// A socket that records its progress.
pub(in crate::http) struct Io {
    stream: TcpStream,
    /// What was read before hyper took over.
    start: Bytes,
    connection: Rc<Connection>,
}

impl Io {
    pub(in crate::http) fn new(stream: TcpStream, start: Bytes, connection: Rc<Connection>) -> Io {
        Io { stream, start, connection }
    }

    pub(in crate::http) fn into_stream(self) -> TcpStream {
        self.stream
    }
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if self.start.is_empty() {
            ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        } else {
            let count = self.start.len().min(buffer.remaining());
            buffer.put_slice(self.start.get(..count).unwrap_or_default());
            self.start.advance(count);
        }
        self.connection.progress.received(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.connection.progress.sent(&sent);
        sent
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.connection.progress.sent(&sent);
        sent
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
