//! One connection: what arrives is answered, as soon as it can be read and written.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use smallvec::SmallVec;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::yield_now;
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
}

/// What happened on the wire.
enum Event {
    /// Something was read: this many bytes of the buffer are filled.
    Came(Buffer, usize),
    /// There will be nothing more.
    Gone,
}

/// Why a connection does not go on.
enum End {
    /// What follows would be misread.
    Broken(Broken),
    /// Nobody reads what is sent.
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
        }
    }

    /// Answers until one side leaves.
    pub(crate) async fn serve(mut self) {
        while let Event::Came(mut buffer, filled) = self.next().await {
            if self.out.is_empty() {
                self.out = self.home.take_answers();
            }
            let is_full = filled == buffer.bytes.len();
            let answered = self.answer(&mut buffer, filled).await;
            self.home.give_back(buffer);
            match answered {
                Ok(()) => {}
                Err(End::Broken(broken)) => self.say_goodbye(broken),
                Err(End::Gone) => return,
            }
            // Whoever never stops to send must not keep the server from stopping, nor others waiting.
            self.session.leaving |= self.home.is_stopping();
            if is_full {
                yield_now().await;
            }
        }
    }

    /// Waits for what comes next: not long for whoever does not read its answers, or has sent only half
    /// a command.
    async fn next(&mut self) -> Event {
        loop {
            // Nearly always all is sent at once and all commands are whole, and nobody needs a timer.
            match poll_fn(|cx| Poll::Ready(self.poll_send(cx))).await {
                Poll::Ready(Err(_)) => return Event::Gone,
                Poll::Ready(Ok(())) if self.rest.is_empty() => {
                    return poll_fn(|cx| self.poll(cx)).await;
                }
                _ => {}
            }
            match self.patiently(Connection::poll).await {
                Some(Poll::Ready(event)) => return event,
                Some(Poll::Pending) => {}
                None => return Event::Gone,
            }
        }
    }

    /// Goes on with something for as long as a client may take. If it is not done by then, it may go on
    /// as long again; but `None` if no answers were read meanwhile.
    async fn patiently<T>(
        &mut self,
        mut step: impl FnMut(&mut Connection, &mut Context<'_>) -> Poll<T>,
    ) -> Option<Poll<T>> {
        let (patience, unsent) = (self.home.bounds().patience, self.out.len());
        match timeout(patience, poll_fn(|cx| step(self, cx))).await {
            Ok(done) => Some(Poll::Ready(done)),
            Err(_) if self.out.len() < unsent => Some(Poll::Pending),
            Err(_) => None,
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
            Poll::Ready(ended) => {
                self.home.give_back(buffer);
                if ended.is_ok() { self.leave() } else { Poll::Ready(Event::Gone) }
            }
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
        let mut sent = 0;
        while let Some(unsent @ [_, ..]) = self.out.get(sent..) {
            match Pin::new(&mut self.stream).poll_write(cx, unsent) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(more)) => sent += more,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.out.drain(..sent);
                    return Poll::Pending;
                }
            }
        }
        if self.out.capacity() > 0 {
            self.home.give_back_answers(std::mem::take(&mut self.out));
        }
        Poll::Ready(Ok(()))
    }

    /// Answers all commands that have arrived whole, and keeps the start of the next.
    async fn answer(&mut self, buffer: &mut Buffer, filled: usize) -> Result<(), End> {
        let Buffer { bytes, commands } = buffer;
        let bytes = bytes.get_mut(..filled).unwrap_or_default();
        let mut start = 0;
        loop {
            let left = bytes.get_mut(start..).unwrap_or_default();
            let (taken, parsed) = commands.parse(left, self.home.bounds());
            let whole = commands.len();
            self.answer_all(commands, left).await?;
            start += taken;
            if self.session.leaving {
                return Ok(());
            }
            parsed.map_err(End::Broken)?;
            if whole < self.home.bounds().pipeline {
                break;
            }
            yield_now().await;
        }
        self.rest = bytes.get(start..).unwrap_or_default().to_vec();
        Ok(())
    }

    async fn answer_all(&mut self, commands: &Commands, bytes: &[u8]) -> Result<(), End> {
        let mut left = commands.iter(bytes).peekable();
        while left.peek().is_some() && !self.session.leaving {
            let queue = self.answer_some(&mut left).await;
            self.drain().await?;
            let Some(queue) = queue else { continue };
            if self.session.is_answered() {
                Reply::new(&mut self.out, self.session.version()).array(queue.len());
            }
            let mut queued = queue.iter().peekable();
            while queued.peek().is_some() {
                let some = self.home.bounds().pipeline;
                self.answer_some(&mut queued.by_ref().take(some)).await;
                self.drain().await?;
                yield_now().await;
            }
        }
        Ok(())
    }

    /// If there is too much to be sent, waits until it is.
    async fn drain(&mut self) -> Result<(), End> {
        if self.out.len() < self.home.bounds().unread_bytes {
            return Ok(());
        }
        loop {
            match self.patiently(Connection::poll_send).await {
                Some(Poll::Ready(Ok(()))) => return Ok(()),
                Some(Poll::Pending) => {}
                Some(Poll::Ready(Err(_))) | None => return Err(End::Gone),
            }
        }
    }

    /// Answers commands: all of them, or up to where their answers are many, or up to the end of a
    /// transaction, whose commands are returned.
    async fn answer_some<'c>(
        &mut self,
        commands: &mut impl Iterator<Item = Command<'c>>,
    ) -> Option<Box<Queue>> {
        let Connection { session, home, out, .. } = self;
        let engine = home.engine();
        let mut reads: SmallVec<[(Read<'_>, bool); 1]> =
            SmallVec::with_capacity(commands.size_hint().0);
        let (mut exec, mut said_bytes) = (None, 0);
        for command in commands {
            let read = match session.queue(&command, home.bounds().transaction_bytes) {
                Some(Ok(queue)) => {
                    exec = Some(queue);
                    break;
                }
                Some(Err(said)) => Read::Said(said),
                None => read(&command, session, engine.policies(), home.rates()),
            };
            if let Read::Said(said) = &read {
                said_bytes += said.len();
            }
            reads.push((read, session.is_answered()));
            if session.leaving || said_bytes >= home.bounds().unread_bytes {
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
