//! One connection: what arrives is answered, as soon as it can be read and written.

use std::cell::LazyCell;
use std::rc::Rc;

use smallvec::SmallVec;
use tokio::net::TcpStream;
use tokio::task::yield_now;

use super::parse::{Broken, Command, Commands};
use super::reply::{Reply, Version};
use super::service::Service;
use super::session::Session;
use super::transaction::Queue;
use super::{Dialect, Parsed, read};
use crate::engine::Answer;
use crate::engine::policies::Policies;
use crate::limits::RespLimits;
use crate::net::transport::{ReadEvent, Transport, Unread};

/// Serves a connection until one side closes it.
pub(crate) async fn serve(service: Rc<Service>, stream: TcpStream, number: u64) {
    let (worker, buffers) = (Rc::clone(&service.worker), Rc::clone(&service.buffers));
    let transport = Transport::new(stream, number, worker, buffers);
    Connection { transport, service, session: Session::new(number) }.serve().await;
}

struct Connection {
    transport: Transport,
    service: Rc<Service>,
    session: Session,
}

/// Why a connection does not go on.
enum End {
    /// What follows would be misread.
    Broken(Broken),
    Unread(Unread),
}

impl Connection {
    fn limits(&self) -> &RespLimits {
        &self.service.limits
    }

    async fn serve(mut self) {
        while let ReadEvent::Data(mut buffer, filled) = self.transport.next().await {
            let mut commands = self.service.commands.take().unwrap_or_default();
            let bytes = buffer.get_mut(..filled).unwrap_or_default();
            let (taken, answered) = self.answer(&mut commands, bytes).await;
            self.service.commands.give_back(commands);
            match answered {
                Ok(()) => {}
                Err(End::Broken(broken)) => self.close_with_error(broken),
                Err(End::Unread(Unread)) => return,
            }
            let is_full = filled == buffer.len();
            self.transport.closing |= self.session.leaving;
            self.transport.keep(buffer, taken, filled);
            if is_full {
                // Others have waited.
                yield_now().await;
            }
        }
        self.transport.close().await;
    }

    /// Answers all commands that have arrived whole, and says how many bytes they took.
    async fn answer(
        &mut self,
        commands: &mut Commands,
        bytes: &mut [u8],
    ) -> (usize, Result<(), End>) {
        let mut start = 0;
        loop {
            let left = bytes.get_mut(start..).unwrap_or_default();
            let (taken, parsed) = commands.parse(left, self.limits());
            let whole = commands.len();
            let answered = self.answer_all(commands, left).await;
            start += taken;
            let ended = match answered {
                Err(unread) => Err(End::Unread(unread)),
                Ok(()) if self.session.leaving => Ok(()),
                Ok(()) => parsed.map_err(End::Broken),
            };
            let is_last = whole < self.limits().pipeline || self.session.leaving;
            if ended.is_err() || is_last {
                return (start, ended);
            }
            yield_now().await;
        }
    }

    async fn answer_all(&mut self, commands: &Commands, bytes: &[u8]) -> Result<(), Unread> {
        let mut left = commands.iter(bytes).peekable();
        while left.peek().is_some() && !self.session.leaving {
            let queue = match commands.len() {
                1 => self.answer_alone(&mut left).await,
                _ => self.answer_some(&mut left).await,
            };
            self.transport.drain().await?;
            let Some(queue) = queue else { continue };
            if self.session.is_answered() {
                Reply::new(&mut self.transport.out, self.session.version()).array(queue.len());
            }
            let mut queued = queue.iter().peekable();
            while queued.peek().is_some() {
                let some = self.limits().pipeline;
                self.answer_some(&mut queued.by_ref().take(some)).await;
                self.transport.drain().await?;
                yield_now().await;
            }
        }
        Ok(())
    }

    /// Answers the command that came, which is nearly always one alone. If it ends a transaction, the
    /// commands of that are returned.
    async fn answer_alone<'c>(
        &mut self,
        commands: &mut impl Iterator<Item = Command<'c>>,
    ) -> Option<Box<Queue>> {
        let Connection { session, service, transport: Transport { out, .. } } = self;
        let policies = LazyCell::new(|| service.engine.policies());
        let read = match parse_or_queue(&commands.next()?, session, service, || &policies) {
            Ok(read) => read,
            Err(queue) => return Some(queue),
        };
        let answered = session.is_answered();
        let answer = match &read {
            Parsed::Operation(operation, _) => {
                Some(service.engine.answer_one(service.worker.id(), operation).await)
            }
            Parsed::Reply(_) => None,
        };
        if answered {
            write(&read, answer.as_ref(), session.version(), out);
        }
        None
    }

    /// Answers commands: all of them, or up to where their answers are many, or up to the end of a
    /// transaction, whose commands are returned.
    async fn answer_some<'c>(
        &mut self,
        commands: &mut impl Iterator<Item = Command<'c>>,
    ) -> Option<Box<Queue>> {
        let Connection { session, service, transport: Transport { out, .. } } = self;
        // These hold for all that came together, whatever is set meanwhile.
        let policies = LazyCell::new(|| service.engine.policies());
        let mut reads: SmallVec<[(Parsed<'_>, bool); 1]> =
            SmallVec::with_capacity(commands.size_hint().0);
        let (mut exec, mut said_bytes) = (None, 0);
        for command in commands {
            let read = match parse_or_queue(&command, session, service, || &policies) {
                Ok(read) => read,
                Err(queue) => {
                    exec = Some(queue);
                    break;
                }
            };
            if let Parsed::Reply(said) = &read {
                said_bytes += said.len();
            }
            reads.push((read, session.is_answered()));
            if session.leaving || said_bytes >= service.limits.max_pending_bytes {
                break;
            }
        }
        let operations = reads.iter().filter_map(|(read, _)| match read {
            Parsed::Operation(operation, _) => Some(operation),
            Parsed::Reply(_) => None,
        });
        let mut answers = service.engine.answer(service.worker.id(), operations).await.into_iter();
        for (read, answered) in &reads {
            let answer = matches!(read, Parsed::Operation(..)).then(|| answers.next()).flatten();
            if *answered {
                write(read, answer.as_ref(), session.version(), out);
            }
        }
        exec
    }

    /// What follows would be misread: says why, and leaves.
    fn close_with_error(&mut self, broken: Broken) {
        self.session.leaving = true;
        if broken != Broken::Foreign {
            let text = format!("ERR Protocol error: {broken}");
            Reply::new(&mut self.transport.out, self.session.version()).error(text.as_bytes());
        }
    }
}

/// Reads a command.
///
/// # Errors
/// What was queued, if it is to be done now.
fn parse_or_queue<'a>(
    command: &Command<'a>,
    session: &mut Session,
    service: &Service,
    policies: impl FnOnce() -> &'a Policies,
) -> Result<Parsed<'a>, Box<Queue>> {
    match session.queue(command, service.limits.transaction_bytes) {
        None => Ok(read(command, session, policies, &service.rates)),
        Some(Err(said)) => Ok(Parsed::Reply(said)),
        Some(Ok(queue)) => Err(queue),
    }
}

/// Writes what was read, or what it was answered.
pub(super) fn write(
    read: &Parsed<'_>,
    answer: Option<&Answer>,
    version: Version,
    out: &mut Vec<u8>,
) {
    match (read, answer) {
        (Parsed::Reply(said), _) => out.extend_from_slice(said),
        (Parsed::Operation(_, Dialect::Throttle), Some(answer)) => {
            Reply::new(out, version).throttle(answer);
        }
        (Parsed::Operation(_, Dialect::Ours), Some(answer)) => {
            Reply::new(out, version).decision(answer);
        }
        (Parsed::Operation(..), None) => {}
    }
}
