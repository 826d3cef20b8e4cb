//! The bytes of one connection: what came and is not understood yet, and what is to be sent.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, timeout, timeout_at};

use crate::host::event_loop::{Loop, Room, Visit};

/// How long a client is waited for that was told to leave, and how much it may still send.
const LINGERING: Duration = Duration::from_secs(1);
const LINGERED_BYTES: u64 = 1024 * 1024;

/// Which of the loop's rooms a connection is in.
pub(crate) type RoomOf = fn(&Loop) -> &Room;

pub(crate) struct Wire {
    stream: TcpStream,
    pub(crate) home: Rc<Loop>,
    room: RoomOf,
    visit: Visit,
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

/// What happened on the wire.
pub(crate) enum Event {
    /// Something was read: this many bytes of the buffer are filled.
    Came(Box<[u8]>, usize),
    /// The end of what was begun did not come in time.
    Late,
    /// There will be nothing more.
    Gone,
}

/// Nobody reads what is sent.
pub(crate) struct Unread;

impl Wire {
    pub(crate) fn new(stream: TcpStream, number: u64, home: Rc<Loop>, room: RoomOf) -> Wire {
        Wire {
            stream,
            visit: home.visit(number),
            home,
            room,
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

    fn room(&self) -> &Room {
        (self.room)(&self.home)
    }

    /// Waits for what comes next: not long for whoever does not read its answers, or has sent only the
    /// start of something.
    pub(crate) async fn next(&mut self) -> Event {
        loop {
            // Nearly always all is sent at once and nothing is begun, and nobody needs a timer.
            match poll_fn(|cx| Poll::Ready(self.poll_send(cx))).await {
                Poll::Ready(Err(_)) => return Event::Gone,
                Poll::Ready(Ok(())) if self.rest.is_empty() => {
                    return poll_fn(|cx| self.poll(cx)).await;
                }
                _ => {}
            }
            let (unsent, patience) = (self.unsent(), Instant::now() + self.room().patience);
            let by = self.rest_by.map_or(patience, |by| by.min(patience));
            match timeout_at(by, poll_fn(|cx| self.poll(cx))).await {
                Ok(event) => return event,
                Err(_) if self.rest_by.is_some_and(|by| by <= Instant::now()) => {
                    // Nobody waits for it any more.
                    (self.rest, self.rest_by) = (Vec::new(), None);
                    return Event::Late;
                }
                Err(_) if self.unsent() < unsent => {}
                Err(_) => return Event::Gone,
            }
        }
    }

    /// Gives a buffer back; what begins at `start` is kept until its end comes.
    pub(crate) fn keep(&mut self, buffer: Box<[u8]>, start: usize, filled: usize) {
        // Whoever never stops to send must not keep the server from stopping.
        self.leaving |= self.home.is_stopping();
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
            self.rest_by = Some(Instant::now() + self.room().patience);
        }
        self.room().give_back(buffer);
    }

    /// Sends what can be sent, then reads what can be read.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        match self.poll_send(cx) {
            Poll::Ready(Ok(())) if self.leaving => return Poll::Ready(Event::Gone),
            Poll::Ready(Err(_)) => return Poll::Ready(Event::Gone),
            Poll::Pending if self.leaving => return Poll::Pending,
            // Answers that nobody reads must not pile up.
            Poll::Pending if self.unsent() >= self.room().unread_bytes => return Poll::Pending,
            _ => {}
        }
        let mut buffer = self.room().take_buffer(&self.rest);
        let mut space = ReadBuf::new(buffer.get_mut(self.rest.len()..).unwrap_or_default());
        match Pin::new(&mut self.stream).poll_read(cx, &mut space) {
            Poll::Ready(Ok(())) if !space.filled().is_empty() => {
                let filled = self.rest.len() + space.filled().len();
                self.rest.clear();
                self.quiet = false;
                self.begin_answers();
                Poll::Ready(Event::Came(buffer, filled))
            }
            Poll::Ready(ended) => {
                self.room().give_back(buffer);
                if ended.is_ok() { self.leave() } else { Poll::Ready(Event::Gone) }
            }
            Poll::Pending => {
                self.room().give_back(buffer);
                if self.home.is_stopping() {
                    return self.leave();
                }
                self.visit.wake_by(cx.waker());
                if self.is_idle(cx) { Poll::Ready(Event::Gone) } else { Poll::Pending }
            }
        }
    }

    fn begin_answers(&mut self) {
        if self.out.is_empty() {
            self.out = self.home.take_answers();
        }
    }

    /// There is nothing more to be read; what was answered is still sent.
    fn leave(&mut self) -> Poll<Event> {
        self.leaving = true;
        if self.out.is_empty() { Poll::Ready(Event::Gone) } else { Poll::Pending }
    }

    /// Whether nothing has come for too long. One timer is set for many requests.
    fn is_idle(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(bound) = self.room().idle else { return false };
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
                    if self.sent > self.room().unread_bytes {
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
            self.home.give_back_answers(std::mem::take(&mut self.out));
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
        let _ = timeout(LINGERING, reading).await;
    }

    /// If there is too much to be sent, waits until it is.
    ///
    /// # Errors
    /// If the client reads nothing of it for too long.
    pub(crate) async fn drain(&mut self) -> Result<(), Unread> {
        if self.unsent() < self.room().unread_bytes {
            return Ok(());
        }
        loop {
            let (unsent, patience) = (self.unsent(), self.room().patience);
            match timeout(patience, poll_fn(|cx| self.poll_send(cx))).await {
                Ok(Ok(())) => return Ok(()),
                Err(_) if self.unsent() < unsent => {}
                Ok(Err(_)) | Err(_) => return Err(Unread),
            }
        }
    }

    /// The stream, for whoever goes on with another protocol.
    pub(crate) fn into_parts(self) -> (TcpStream, Rc<Loop>, Visit) {
        (self.stream, self.home, self.visit)
    }
}
