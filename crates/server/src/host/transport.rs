//! The bytes of one connection: what came and is not understood yet, and what is to be sent.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, timeout_at};

use crate::host::worker::{BufferPool, ShutdownRegistration, Worker};

/// How long a client is waited for that was told to leave, and how much it may still send.
const LINGERING: Duration = Duration::from_secs(1);
const LINGERED_BYTES: u64 = 1024 * 1024;

/// Which of the loop's rooms a connection is in.
pub(crate) type PoolOf = fn(&Worker) -> &BufferPool;

pub(crate) struct Transport {
    stream: TcpStream,
    pub(crate) worker: Rc<Worker>,
    pool: PoolOf,
    registration: ShutdownRegistration,
    /// The start of something whose end has not come yet.
    rest: Vec<u8>,
    /// When that end must have come.
    rest_by: Option<Instant>,
    /// What is to be sent,
    pub(crate) out: Vec<u8>,
    /// from here on.
    sent: usize,
    /// Whether the connection is closed once all is sent,
    pub(crate) leaving: bool,
    /// though the client may still be sending.
    pub(crate) is_cut_off: bool,
    idle: Option<Pin<Box<Sleep>>>,
    /// Whether nothing came since this was last looked at.
    quiet: bool,
}

/// What happened on the transport.
pub(crate) enum ReadEvent {
    /// Something was read: this many bytes of the buffer are filled.
    Data(Box<[u8]>, usize),
    /// The end of what was begun did not come in time.
    TimedOut,
    /// There will be nothing more.
    Closed,
}

/// Nobody reads what is sent.
pub(crate) struct Unread;

impl Transport {
    pub(crate) fn new(
        stream: TcpStream,
        number: u64,
        worker: Rc<Worker>,
        pool: PoolOf,
    ) -> Transport {
        Transport {
            stream,
            registration: worker.registration(number),
            worker,
            pool,
            rest: Vec::new(),
            rest_by: None,
            out: Vec::new(),
            sent: 0,
            leaving: false,
            is_cut_off: false,
            idle: None,
            quiet: false,
        }
    }

    fn pool(&self) -> &BufferPool {
        (self.pool)(&self.worker)
    }

    /// Waits for what comes next: not long for whoever does not read its answers, or has sent only the
    /// start of something.
    pub(crate) async fn next(&mut self) -> ReadEvent {
        loop {
            // Nearly always all is sent at once and nothing is begun, and nobody needs a timer.
            match poll_fn(|cx| Poll::Ready(self.poll_send(cx))).await {
                Poll::Ready(Err(_)) => return ReadEvent::Closed,
                Poll::Ready(Ok(())) if self.rest.is_empty() => {
                    return poll_fn(|cx| self.poll(cx)).await;
                }
                _ => {}
            }
            let (unsent, deadline) = (self.unsent(), Instant::now() + self.pool().timeout);
            let by = self.rest_by.map_or(deadline, |by| by.min(deadline));
            match timeout_at(by, poll_fn(|cx| self.poll(cx))).await {
                Ok(event) => return event,
                Err(_) if self.rest_by.is_some_and(|by| by <= Instant::now()) => {
                    // Nobody waits for it any more.
                    (self.rest, self.rest_by) = (Vec::new(), None);
                    return ReadEvent::TimedOut;
                }
                Err(_) if self.unsent() < unsent => {}
                Err(_) => return ReadEvent::Closed,
            }
        }
    }

    /// Gives a buffer back; what begins at `start` is kept until its end comes.
    pub(crate) fn keep(&mut self, buffer: Box<[u8]>, start: usize, filled: usize) {
        // Whoever never stops to send must not keep the server from stopping.
        self.leaving |= self.worker.is_stopping();
        let rest = buffer.get(start..filled).unwrap_or_default();
        if self.leaving {
            self.is_cut_off |= !rest.is_empty() || filled == buffer.len();
        } else {
            self.rest.extend_from_slice(rest);
        }
        if self.rest.is_empty() {
            // Whoever is quiet has no memory that was needed once.
            (self.rest, self.rest_by) = (Vec::new(), None);
        } else if start > 0 || self.rest_by.is_none() {
            self.rest_by = Some(Instant::now() + self.pool().timeout);
        }
        self.pool().give_back(buffer);
    }

    /// Sends what can be sent, then reads what can be read.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ReadEvent> {
        match self.poll_send(cx) {
            Poll::Ready(Ok(())) if self.leaving => return Poll::Ready(ReadEvent::Closed),
            Poll::Ready(Err(_)) => return Poll::Ready(ReadEvent::Closed),
            Poll::Pending if self.leaving => return Poll::Pending,
            // Answers that nobody reads must not pile up.
            Poll::Pending if self.unsent() >= self.pool().max_pending_bytes => {
                return Poll::Pending;
            }
            _ => {}
        }
        let mut buffer = self.pool().take_buffer(&self.rest);
        let mut space = ReadBuf::new(buffer.get_mut(self.rest.len()..).unwrap_or_default());
        match Pin::new(&mut self.stream).poll_read(cx, &mut space) {
            Poll::Ready(Ok(())) if !space.filled().is_empty() => {
                let filled = self.rest.len() + space.filled().len();
                self.rest.clear();
                self.quiet = false;
                self.begin_answers();
                Poll::Ready(ReadEvent::Data(buffer, filled))
            }
            Poll::Ready(ended) => {
                self.pool().give_back(buffer);
                if ended.is_ok() { self.leave() } else { Poll::Ready(ReadEvent::Closed) }
            }
            Poll::Pending => {
                self.pool().give_back(buffer);
                if self.worker.is_stopping() {
                    return self.leave();
                }
                self.registration.wake_by(cx.waker());
                if self.is_idle(cx) { Poll::Ready(ReadEvent::Closed) } else { Poll::Pending }
            }
        }
    }

    fn begin_answers(&mut self) {
        if self.out.is_empty() {
            self.out = self.worker.take_answers();
        }
    }

    /// There is nothing more to be read; what was answered is still sent.
    fn leave(&mut self) -> Poll<ReadEvent> {
        self.leaving = true;
        if self.out.is_empty() { Poll::Ready(ReadEvent::Closed) } else { Poll::Pending }
    }

    /// Whether nothing has come for too long. One timer is set for many requests.
    fn is_idle(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(bound) = self.pool().idle else { return false };
        let timer = self.idle.get_or_insert_with(|| Box::pin(sleep(bound)));
        while timer.as_mut().poll(cx).is_ready() {
            if std::mem::replace(&mut self.quiet, true) {
                return true;
            }
            timer.as_mut().reset(Instant::now() + bound);
        }
        false
    }

    /// How many bytes are to be sent.
    fn unsent(&self) -> usize {
        self.out.len().saturating_sub(self.sent)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(unsent @ [_, ..]) = self.out.get(self.sent..) {
            match self.stream.try_write(unsent) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(more) => self.sent += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // Not each time: what is left is moved.
                    if self.sent > self.pool().max_pending_bytes {
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
            self.worker.give_back_answers(std::mem::take(&mut self.out));
        }
        Poll::Ready(Ok(()))
    }

    /// Closes the connection. A client that may still be sending is waited for a little: it would be told
    /// that the connection is broken, and might not read what it was answered, or why it is left.
    pub(crate) async fn close(mut self) {
        if !self.is_cut_off {
            return;
        }
        let reading = async {
            self.stream.shutdown().await?;
            let mut nowhere = tokio::io::sink();
            tokio::io::copy(&mut (&mut self.stream).take(LINGERED_BYTES), &mut nowhere).await
        };
        // However it ends, it ends.
        let _ = tokio::time::timeout(LINGERING, reading).await;
    }

    /// If there is too much to be sent, waits until it is.
    ///
    /// # Errors
    /// If the client reads nothing of it for too long.
    pub(crate) async fn drain(&mut self) -> Result<(), Unread> {
        if self.unsent() < self.pool().max_pending_bytes {
            return Ok(());
        }
        loop {
            let (unsent, timeout) = (self.unsent(), self.pool().timeout);
            match tokio::time::timeout(timeout, poll_fn(|cx| self.poll_send(cx))).await {
                Ok(Ok(())) => return Ok(()),
                Err(_) if self.unsent() < unsent => {}
                Ok(Err(_)) | Err(_) => return Err(Unread),
            }
        }
    }

    /// The stream, for whoever goes on with another protocol.
    pub(crate) fn into_parts(self) -> (TcpStream, Rc<Worker>, ShutdownRegistration) {
        (self.stream, self.worker, self.registration)
    }
}
