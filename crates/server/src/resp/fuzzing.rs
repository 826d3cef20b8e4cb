//! One connection without a socket, for the fuzz targets.

use super::connection::write;
use super::parse::{Command, CommandBatch, ProtocolError};
use super::reply::Reply;
use super::service::Service;
use super::session::Session;
use super::{Parsed, parse};
use crate::feed::{at_once, feed};

/// The commands that were parsed, and the replies to them.
#[derive(Debug, PartialEq)]
pub(crate) struct Transcript {
    /// The arguments of each command.
    commands: Vec<Vec<Vec<u8>>>,
    replies: Vec<u8>,
    error: Option<ProtocolError>,
}

/// Sends bytes to a new connection.
pub(crate) fn answers(service: &Service, pieces: [&[u8]; 2]) -> Transcript {
    let transcript = Transcript { commands: Vec::new(), replies: Vec::new(), error: None };
    let mut connection = Connection { service, session: Session::new(1), transcript };
    feed(pieces, service.limits.command_bytes, |bytes| connection.process(bytes));
    connection.transcript
}

struct Connection<'h> {
    service: &'h Service,
    session: Session,
    transcript: Transcript,
}

impl Connection<'_> {
    /// Returns the number of bytes consumed, or `None` if the connection ends.
    fn process(&mut self, bytes: &mut [u8]) -> Option<usize> {
        let limits = &self.service.limits;
        let (mut commands, mut start) = (CommandBatch::default(), 0);
        loop {
            let left = bytes.get_mut(start..).unwrap_or_default();
            let (consumed, parsed) = commands.parse(left, limits);
            assert!(consumed <= left.len() && commands.len() <= limits.pipeline);
            self.execute_all(commands.iter(left));
            start += consumed;
            if self.session.closing {
                return None;
            }
            if let Err(error) = parsed {
                self.transcript.error = Some(error);
                return None;
            }
            if commands.len() < limits.pipeline {
                return Some(start);
            }
        }
    }

    fn execute_all<'c>(&mut self, commands: impl Iterator<Item = Command<'c>>) {
        let limits = &self.service.limits;
        for command in commands {
            if self.session.closing {
                return;
            }
            let args: Vec<Vec<u8>> = command.args_from(0).map(Vec::from).collect();
            assert!((1..=limits.args).contains(&args.len()));
            assert!(args.iter().all(|arg| arg.len() <= limits.arg_bytes));
            self.transcript.commands.push(args);
            match self.session.queue(&command, limits.transaction_bytes) {
                None => self.execute(&command),
                Some(Err(reply)) => self.record(&reply),
                Some(Ok(queue)) => {
                    let mut reply = Vec::new();
                    Reply::new(&mut reply, self.session.version()).array(queue.len());
                    self.record(&reply);
                    queue.iter().for_each(|command| self.execute(&command));
                }
            }
        }
    }

    fn execute(&mut self, command: &Command<'_>) {
        let engine = &self.service.engine;
        let policies = engine.policies();
        let parsed = parse(command, &mut self.session, || &policies, &self.service.inline_limits);
        let answer = match &parsed {
            Parsed::Reply(_) => None,
            Parsed::Operation(operation, _) => {
                assert_eq!(operation.items().count(), operation.len(), "every limit has its key");
                Some(at_once(engine.answer_one(0, operation)))
            }
        };
        let mut reply = Vec::new();
        write(&parsed, answer.as_ref(), self.session.version(), &mut reply);
        self.record(&reply);
    }

    fn record(&mut self, reply: &[u8]) {
        if self.session.wants_reply() {
            assert!(reply.ends_with(b"\r\n"), "{}", reply.escape_ascii());
            self.transcript.replies.extend_from_slice(reply);
        }
    }
}
