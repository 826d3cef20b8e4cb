//! The bytes of one connection: what has arrived and is not processed yet, and what is to be sent.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::buffers::{BufferPool, TransportLimits};
use super::linger::linger;
use super::worker::{ShutdownRegistration, Worker};

/// One connection, with what is read and written in whole messages by a protocol.
pub(crate) struct Transport {
    stream: TcpStream,
    pub(crate) worker: Rc<Worker>,
    buffers: Rc<BufferPool>,
    registration: ShutdownRegistration,
    /// The start of a message whose end has not arrived yet.
    partial: Vec<u8>,
    /// When the rest of it must have arrived.
    partial_deadline: Option<Instant>,
    /// What is to be sent, from `sent` on.
    pub(crate) out: Vec<u8>,
    sent: usize,
    /// Whether the connection is closed once everything is sent.
    pub(crate) closing: bool,
    /// Whether the client may still be sending when we close.
    lingers: bool,
}

/// What reading from a connection came to.
pub(crate) enum ReadEvent {
    /// Bytes have arrived: so many of the buffer are filled, with the partial message of before at its start.
    Data(Box<[u8]>, usize),
    /// The connection is over: closed by the client or by us, a message incomplete for too long, or responses
    /// unread.
    Closed,
}

/// The client does not read its responses.
pub(crate) struct Unread;

impl Transport {
    pub(crate) fn new(
        stream: TcpStream,
        number: u64,
        worker: Rc<Worker>,
        buffers: Rc<BufferPool>,
    ) -> Transport {
        Transport {
            stream,
            registration: worker.register(number),
            worker,
            buffers,
            partial: Vec::new(),
            partial_deadline: None,
            out: Vec::new(),
            sent: 0,
            closing: false,
            lingers: false,
        }
    }

    fn limits(&self) -> &TransportLimits {
        &self.buffers.limits
    }

    /// Waits for the next bytes. The wait is bounded while the client has unread responses or has sent only
    /// part of a message.
    pub(crate) async fn next(&mut self) -> ReadEvent {
        loop {
            // Nearly always everything is sent at once and nothing is partial, so that no timer is needed.
            match poll_fn(|cx| Poll::Ready(self.poll_send(cx))).await {
                Poll::Ready(Err(_)) => return ReadEvent::Closed,
                Poll::Ready(Ok(())) if self.partial.is_empty() => {
                    return poll_fn(|cx| self.poll(cx)).await;
                }
                _ => {}
            }
            let (unsent, deadline) = (self.unsent(), Instant::now() + self.limits().timeout);
            let deadline = self.partial_deadline.map_or(deadline, |partial| partial.min(deadline));
            match timeout_at(deadline, poll_fn(|cx| self.poll(cx))).await {
                Ok(event) => return event,
                Err(_) if self.partial_deadline.is_some_and(|by| by <= Instant::now()) => {
                    return ReadEvent::Closed;
                }
                Err(_) if self.unsent() < unsent => {}
                Err(_) => return ReadEvent::Closed,
            }
        }
    }

    /// Gives a buffer back; the partial message that begins at `start` is kept until its end arrives.
    pub(crate) fn keep(&mut self, buffer: Box<[u8]>, start: usize, filled: usize) {
        // A client that never stops sending must not keep the server from stopping.
        self.closing |= self.worker.is_stopping();
        let partial = buffer.get(start..filled).unwrap_or_default();
        if self.closing {
            self.lingers |= !partial.is_empty() || filled == buffer.len();
        } else {
            self.partial.extend_from_slice(partial);
        }
        if self.partial.is_empty() {
            // An idle connection does not hold on to memory that it needed once.
            (self.partial, self.partial_deadline) = (Vec::new(), None);
        } else if start > 0 || self.partial_deadline.is_none() {
            self.partial_deadline = Some(Instant::now() + self.limits().timeout);
        }
        self.buffers.give_back(buffer);
    }

    /// Sends what can be sent, then reads what can be read.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ReadEvent> {
        match self.poll_send(cx) {
            Poll::Ready(Ok(())) if self.closing => return Poll::Ready(ReadEvent::Closed),
            Poll::Ready(Err(_)) => return Poll::Ready(ReadEvent::Closed),
            Poll::Pending if self.closing => return Poll::Pending,
            // Responses that the client does not read must not pile up.
            Poll::Pending if self.unsent() >= self.limits().max_pending_bytes => {
                return Poll::Pending;
            }
            _ => {}
        }
        let mut buffer = self.buffers.take(&self.partial);
        let mut space = ReadBuf::new(buffer.get_mut(self.partial.len()..).unwrap_or_default());
        match Pin::new(&mut self.stream).poll_read(cx, &mut space) {
            Poll::Ready(Ok(())) if !space.filled().is_empty() => {
                let filled = self.partial.len() + space.filled().len();
                self.partial.clear();
                if self.out.is_empty() {
                    self.out = self.worker.take_output();
                }
                Poll::Ready(ReadEvent::Data(buffer, filled))
            }
            Poll::Ready(ended) => {
                self.buffers.give_back(buffer);
                if ended.is_ok() { self.close_when_sent() } else { Poll::Ready(ReadEvent::Closed) }
            }
            Poll::Pending => {
                self.buffers.give_back(buffer);
                if self.worker.is_stopping() {
                    return self.close_when_sent();
                }
                self.registration.wake_by(cx.waker());
                Poll::Pending
            }
        }
    }

    /// Stops reading; the responses that are there are still sent.
    fn close_when_sent(&mut self) -> Poll<ReadEvent> {
        self.closing = true;
        if self.out.is_empty() { Poll::Ready(ReadEvent::Closed) } else { Poll::Pending }
    }

    /// Returns how many bytes are still to be sent.
    fn unsent(&self) -> usize {
        self.out.len().saturating_sub(self.sent)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(unsent @ [_, ..]) = self.out.get(self.sent..) {
            match self.stream.try_write(unsent) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(more) => self.sent += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // Not every time, since what is left has to be moved.
                    if self.sent > self.limits().max_pending_bytes {
                        self.out.drain(..self.sent);
                        self.sent = 0;
                    }
                    ready!(self.stream.poll_write_ready(cx))?;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        self.sent = 0;
        if self.out.capacity() > 0 {
            self.worker.give_back_output(std::mem::take(&mut self.out));
        }
        Poll::Ready(Ok(()))
    }

    /// Closes the connection, lingering if the client may still be sending.
    pub(crate) async fn close(mut self) {
        if self.lingers {
            linger(&mut self.stream).await;
        }
    }

    /// Waits until responses are sent, if too many bytes of them are pending.
    ///
    /// # Errors
    /// Fails if the client reads none of them within the timeout.
    pub(crate) async fn drain(&mut self) -> Result<(), Unread> {
        if self.unsent() < self.limits().max_pending_bytes {
            return Ok(());
        }
        loop {
            let (unsent, timeout) = (self.unsent(), self.limits().timeout);
            match tokio::time::timeout(timeout, poll_fn(|cx| self.poll_send(cx))).await {
                Ok(Ok(())) => return Ok(()),
                Err(_) if self.unsent() < unsent => {}
                Ok(Err(_)) | Err(_) => return Err(Unread),
            }
        }
    }
}
