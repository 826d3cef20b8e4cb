//! One connection: what arrives is answered, as soon as it can be read and written.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use smallvec::SmallVec;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::parse::{Broken, Command, Commands};
use super::reply::Reply;
use super::session::Session;
use super::transaction::Queue;
use super::{Dialect, Read, read};
use crate::event_loop::{Buffer, Loop, Visit};

pub(crate) struct Connection {
    stream: TcpStream,
    home: Rc<Loop>,
    visit: Visit,
    session: Session,
    /// The start of a command whose end has not come yet.
    rest: Vec<u8>,
    /// What is to be sent.
    out: Vec<u8>,
    /// How much of it was sent.
    sent: usize,
}

/// What happened on the wire.
enum Event {
    /// Something was read: this many bytes of the buffer are filled.
    Came(Buffer, usize),
    /// There will be nothing more.
    Gone,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, number: u64, home: Rc<Loop>) -> Connection {
        let visit = home.visit(number);
        Connection {
            stream,
            session: Session::new(visit.number()),
            visit,
            home,
            rest: Vec::new(),
            out: Vec::new(),
            sent: 0,
        }
    }

    /// Answers until one side leaves.
    pub(crate) async fn serve(mut self) {
        while let Event::Came(mut buffer, filled) = self.next().await {
            if self.out.is_empty() {
                self.out = self.home.take_answers();
            }
            let answered = self.answer(&mut buffer, filled).await;
            self.home.give_back(buffer);
            if let Err(broken) = answered {
                self.say_goodbye(broken);
            }
        }
    }

    /// Waits for what comes next. Whoever does not read its answers is not waited for long.
    async fn next(&mut self) -> Event {
        let patience = self.home.bounds().patience;
        loop {
            // Nearly always all of it is sent at once, and nobody needs a timer.
            if poll_fn(|cx| Poll::Ready(self.poll_send(cx))).await.is_ready() {
                return poll_fn(|cx| self.poll(cx)).await;
            }
            let unsent = self.out.len();
            match timeout(patience, poll_fn(|cx| self.poll(cx))).await {
                Ok(event) => return event,
                Err(_) if self.out.len() < unsent => {}
                Err(_) => return Event::Gone,
            }
        }
    }

    /// Sends what can be sent, then reads what can be read.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        match self.poll_send(cx) {
            Poll::Ready(Ok(())) if self.session.leaving => return Poll::Ready(Event::Gone),
            Poll::Ready(Err(_)) => return Poll::Ready(Event::Gone),
            Poll::Pending if self.session.leaving => return Poll::Pending,
            // Answers that nobody reads must not pile up.
            Poll::Pending if self.out.len() >= self.home.bounds().unread_bytes => {
                return Poll::Pending;
            }
            _ => {}
        }
        let mut buffer = self.home.take_buffer(&self.rest);
        let space = buffer.bytes.get_mut(self.rest.len()..).unwrap_or_default();
        let mut space = ReadBuf::new(space);
        match Pin::new(&mut self.stream).poll_read(cx, &mut space) {
            Poll::Ready(Ok(())) if !space.filled().is_empty() => {
                let filled = self.rest.len() + space.filled().len();
                self.rest.clear();
                Poll::Ready(Event::Came(buffer, filled))
            }
            Poll::Ready(Ok(())) => self.leave(),
            Poll::Ready(Err(_)) => Poll::Ready(Event::Gone),
            Poll::Pending => {
                self.home.give_back(buffer);
                if self.home.is_stopping() {
                    return self.leave();
                }
                self.visit.wake_by(cx.waker());
                Poll::Pending
            }
        }
    }

    /// There is nothing more to be read; what was answered is still sent.
    fn leave(&mut self) -> Poll<Event> {
        self.session.leaving = true;
        if self.out.is_empty() { Poll::Ready(Event::Gone) } else { Poll::Pending }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(unsent @ [_, ..]) = self.out.get(self.sent..) {
            match Pin::new(&mut self.stream).poll_write(cx, unsent) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(sent)) => self.sent += sent,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.out.drain(..self.sent);
                    self.sent = 0;
                    return Poll::Pending;
                }
            }
        }
        self.sent = 0;
        if self.out.capacity() > 0 {
            self.home.give_back_answers(std::mem::take(&mut self.out));
        }
        Poll::Ready(Ok(()))
    }

    /// Answers all commands that have arrived whole, and keeps the start of the next.
    async fn answer(&mut self, buffer: &mut Buffer, filled: usize) -> Result<(), Broken> {
        let Buffer { bytes, commands } = buffer;
        let bytes = bytes.get_mut(..filled).unwrap_or_default();
        let mut start = 0;
        loop {
            let left = bytes.get_mut(start..).unwrap_or_default();
            let (taken, parsed) = commands.parse(left, self.home.bounds());
            let whole = commands.len();
            self.answer_all(commands, left).await;
            self.drain().await;
            start += taken;
            parsed?;
            if whole < self.home.bounds().pipeline || self.session.leaving {
                break;
            }
        }
        self.rest = bytes.get(start..).unwrap_or_default().to_vec();
        Ok(())
    }

    async fn answer_all(&mut self, commands: &Commands, bytes: &[u8]) {
        let mut left = commands.iter(bytes);
        while let Some(queue) = self.answer_until_exec(&mut left).await {
            if self.session.is_answered() {
                Reply::new(&mut self.out, self.session.version()).array(queue.len());
            }
            let mut queued = queue.iter().peekable();
            while queued.peek().is_some() && !self.session.leaving {
                let some = self.home.bounds().pipeline;
                self.answer_until_exec(&mut queued.by_ref().take(some)).await;
                self.drain().await;
            }
        }
    }

    /// If there is too much to be sent, waits until it is.
    async fn drain(&mut self) {
        if self.out.len() < self.home.bounds().unread_bytes {
            return;
        }
        let patience = self.home.bounds().patience;
        loop {
            let before = self.out.len();
            match timeout(patience, poll_fn(|cx| self.poll_send(cx))).await {
                Ok(Ok(())) => return,
                Err(_) if self.out.len() < before => {}
                Ok(Err(_)) | Err(_) => {
                    self.out = Vec::new();
                    self.session.leaving = true;
                    return;
                }
            }
        }
    }

    /// Answers commands up to the end of a transaction, whose commands are returned.
    async fn answer_until_exec<'c>(
        &mut self,
        commands: &mut impl Iterator<Item = Command<'c>>,
    ) -> Option<Box<Queue>> {
        let Connection { session, home, out, .. } = self;
        let engine = home.engine();
        let mut reads: SmallVec<[(Read<'_>, bool); 1]> =
            SmallVec::with_capacity(commands.size_hint().0);
        let mut exec = None;
        for command in commands {
            let read = match session.queue(&command, home.bounds().transaction_bytes) {
                Some(Ok(queue)) => {
                    exec = Some(queue);
                    break;
                }
                Some(Err(said)) => Read::Said(said),
                None => read(&command, session, engine.policies(), home.rates()),
            };
            reads.push((read, session.is_answered()));
            if session.leaving {
                break;
            }
        }
        let asks = reads.iter().filter_map(|(read, _)| match read {
            Read::Ask(ask, _) => Some(ask),
            Read::Said(_) => None,
        });
        let mut answers = engine.answer(asks).await.into_iter();
        for (read, answered) in &reads {
            let answer = matches!(read, Read::Ask(..)).then(|| answers.next()).flatten();
            if !answered {
                continue;
            }
            match (read, answer) {
                (Read::Said(said), _) => out.extend_from_slice(said),
                (Read::Ask(_, dialect), Some(answer)) => {
                    let mut reply = Reply::new(out, session.version());
                    match dialect {
                        Dialect::Throttle => reply.throttle(&answer),
                        Dialect::Ours => reply.decision(&answer),
                    }
                }
                (Read::Ask(..), None) => {}
            }
        }
        exec
    }

    /// What follows would be misread: says why, and leaves.
    fn say_goodbye(&mut self, broken: Broken) {
        self.session.leaving = true;
        if broken != Broken::Foreign {
            let text = format!("ERR Protocol error: {broken}");
            Reply::new(&mut self.out, self.session.version()).error(text.as_bytes());
        }
    }
}
