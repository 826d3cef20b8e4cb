//! One connection: reads commands, executes them and writes the replies.

use std::cell::LazyCell;
use std::rc::Rc;

use smallvec::SmallVec;
use tokio::net::TcpStream;
use tokio::task::yield_now;

use super::parse::{Command, CommandBatch, ProtocolError};
use super::reply::{Reply, Version};
use super::service::Service;
use super::session::Session;
use super::transaction::Queue;
use super::{Parsed, ReplyFormat, parse, verbose};
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

/// Why a connection ends.
enum End {
    /// What follows would be misread.
    Protocol(ProtocolError),
    /// The client does not read its replies.
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
            let (consumed, result) = self.process(&mut commands, bytes).await;
            self.service.commands.give_back(commands);
            match result {
                Ok(()) => {}
                Err(End::Protocol(error)) => self.close_with_error(error),
                Err(End::Unread(Unread)) => return,
            }
            let is_full = filled == buffer.len();
            self.transport.closing |= self.session.closing;
            self.transport.keep(buffer, consumed, filled);
            if is_full {
                // More has arrived already: give the other connections a turn.
                yield_now().await;
            }
        }
        self.transport.close().await;
    }

    /// Executes all commands that have arrived completely. Returns the number of bytes they took.
    async fn process(
        &mut self,
        commands: &mut CommandBatch,
        bytes: &mut [u8],
    ) -> (usize, Result<(), End>) {
        let mut start = 0;
        loop {
            let left = bytes.get_mut(start..).unwrap_or_default();
            let (consumed, parsed) = commands.parse(left, self.limits());
            let count = commands.len();
            let executed = self.execute_batch(commands, left).await;
            start += consumed;
            let result = match executed {
                Err(unread) => Err(End::Unread(unread)),
                Ok(()) if self.session.closing => Ok(()),
                Ok(()) => parsed.map_err(End::Protocol),
            };
            let is_last = count < self.limits().pipeline || self.session.closing;
            if result.is_err() || is_last {
                return (start, result);
            }
            yield_now().await;
        }
    }

    async fn execute_batch(&mut self, commands: &CommandBatch, bytes: &[u8]) -> Result<(), Unread> {
        let mut left = commands.iter(bytes).peekable();
        while left.peek().is_some() && !self.session.closing {
            let queue = match commands.len() {
                1 => self.execute_one(&mut left).await,
                _ => self.execute_some(&mut left).await,
            };
            self.transport.drain().await?;
            let Some(queue) = queue else { continue };
            if self.session.wants_reply() {
                Reply::new(&mut self.transport.out, self.session.version()).array(queue.len());
            }
            let mut queued = queue.iter().peekable();
            while queued.peek().is_some() {
                let max = self.limits().pipeline;
                self.execute_some(&mut queued.by_ref().take(max)).await;
                self.transport.drain().await?;
                yield_now().await;
            }
        }
        Ok(())
    }

    /// Executes a single command, which is by far the most common case. Returns the queued commands if it
    /// is `EXEC`.
    async fn execute_one<'c>(
        &mut self,
        commands: &mut impl Iterator<Item = Command<'c>>,
    ) -> Option<Box<Queue>> {
        let Connection { session, service, transport: Transport { out, .. } } = self;
        let policies = LazyCell::new(|| service.engine.policies());
        let parsed = match parse_or_queue(&commands.next()?, session, service, || &policies) {
            Ok(parsed) => parsed,
            Err(queue) => return Some(queue),
        };
        let wants_reply = session.wants_reply();
        let answer = match &parsed {
            Parsed::Operation(operation, _) => {
                Some(service.engine.answer_one(service.worker.id(), operation).await)
            }
            Parsed::Reply(_) => None,
        };
        if wants_reply {
            write(&parsed, answer.as_ref(), session.version(), out);
        }
        None
    }

    /// Executes commands until there are none left, the replies reach `max_pending_bytes`, or a command is
    /// `EXEC`, whose queued commands are returned.
    async fn execute_some<'c>(
        &mut self,
        commands: &mut impl Iterator<Item = Command<'c>>,
    ) -> Option<Box<Queue>> {
        let Connection { session, service, transport: Transport { out, .. } } = self;
        // All commands of a batch see the same policies, even if they are replaced meanwhile.
        let policies = LazyCell::new(|| service.engine.policies());
        let mut batch: SmallVec<[(Parsed<'_>, bool); 1]> =
            SmallVec::with_capacity(commands.size_hint().0);
        let (mut exec, mut reply_bytes) = (None, 0);
        for command in commands {
            let parsed = match parse_or_queue(&command, session, service, || &policies) {
                Ok(parsed) => parsed,
                Err(queue) => {
                    exec = Some(queue);
                    break;
                }
            };
            if let Parsed::Reply(reply) = &parsed {
                reply_bytes += reply.len();
            }
            batch.push((parsed, session.wants_reply()));
            if session.closing || reply_bytes >= service.limits.max_pending_bytes {
                break;
            }
        }
        let operations = batch.iter().filter_map(|(parsed, _)| match parsed {
            Parsed::Operation(operation, _) => Some(operation),
            Parsed::Reply(_) => None,
        });
        let mut answers = service.engine.answer(service.worker.id(), operations).await.into_iter();
        for (parsed, wants_reply) in &batch {
            let answer = matches!(parsed, Parsed::Operation(..)).then(|| answers.next()).flatten();
            if *wants_reply {
                write(parsed, answer.as_ref(), session.version(), out);
            }
        }
        exec
    }

    /// Writes an error and closes the connection. A client that speaks HTTP gets no reply.
    fn close_with_error(&mut self, error: ProtocolError) {
        self.session.closing = true;
        if error != ProtocolError::Http {
            let text = format!("ERR Protocol error: {error}");
            Reply::new(&mut self.transport.out, self.session.version()).error(text.as_bytes());
        }
    }
}

/// Parses a command, or queues it inside a transaction.
///
/// # Errors
/// Returns the queued commands if the command is `EXEC`.
fn parse_or_queue<'a>(
    command: &Command<'a>,
    session: &mut Session,
    service: &Service,
    policies: impl FnOnce() -> &'a Policies,
) -> Result<Parsed<'a>, Box<Queue>> {
    match session.queue(command, service.limits.transaction_bytes) {
        None => Ok(parse(command, session, policies, &service.inline_limits)),
        Some(Err(reply)) => Ok(Parsed::Reply(reply)),
        Some(Ok(queue)) => Err(queue),
    }
}

/// Writes the reply to a command.
pub(super) fn write(
    parsed: &Parsed<'_>,
    answer: Option<&Answer>,
    version: Version,
    out: &mut Vec<u8>,
) {
    match (parsed, answer) {
        (Parsed::Reply(reply), _) => out.extend_from_slice(reply),
        (Parsed::Operation(_, ReplyFormat::RedisCell), Some(answer)) => {
            Reply::new(out, version).throttle(answer);
        }
        (Parsed::Operation(_, ReplyFormat::Tollgate), Some(answer)) => {
            Reply::new(out, version).decision(answer);
        }
        (Parsed::Operation(operation, ReplyFormat::Verbose), Some(answer)) => {
            Reply::new(out, version)
                .decision_by(answer, |reply, decision| verbose::write(operation, decision, reply));
        }
        (Parsed::Operation(..), None) => {}
    }
}
