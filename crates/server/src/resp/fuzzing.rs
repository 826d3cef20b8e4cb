//! One connection without a socket.

use super::connection::write;
use super::parse::{Broken, Command, Commands};
use super::reply::Reply;
use super::service::Service;
use super::session::Session;
use super::{Parsed, read};
use crate::fuzzing::{at_once, feed};

/// What was heard, and what was said.
#[derive(Debug, PartialEq)]
pub(crate) struct Talk {
    /// The words of each command.
    commands: Vec<Vec<Vec<u8>>>,
    answers: Vec<u8>,
    broken: Option<Broken>,
}

/// What comes of bytes.
pub(crate) fn answers(service: &Service, pieces: [&[u8]; 2]) -> Talk {
    let talk = Talk { commands: Vec::new(), answers: Vec::new(), broken: None };
    let mut connection = Connection { service, session: Session::new(1), talk };
    feed(pieces, service.limits.command_bytes, |bytes| connection.answer(bytes));
    connection.talk
}

struct Connection<'h> {
    service: &'h Service,
    session: Session,
    talk: Talk,
}

impl Connection<'_> {
    /// How many bytes were taken; `None` if the connection ends.
    fn answer(&mut self, bytes: &mut [u8]) -> Option<usize> {
        let bounds = &self.service.limits;
        let (mut commands, mut start) = (Commands::default(), 0);
        loop {
            let left = bytes.get_mut(start..).unwrap_or_default();
            let (taken, parsed) = commands.parse(left, bounds);
            assert!(taken <= left.len() && commands.len() <= bounds.pipeline);
            self.answer_all(commands.iter(left));
            start += taken;
            if self.session.leaving {
                return None;
            }
            if let Err(broken) = parsed {
                self.talk.broken = Some(broken);
                return None;
            }
            if commands.len() < bounds.pipeline {
                return Some(start);
            }
        }
    }

    fn answer_all<'c>(&mut self, commands: impl Iterator<Item = Command<'c>>) {
        let bounds = &self.service.limits;
        for command in commands {
            if self.session.leaving {
                return;
            }
            let words: Vec<Vec<u8>> = command.words_from(0).map(Vec::from).collect();
            assert!((1..=bounds.args).contains(&words.len()));
            assert!(words.iter().all(|word| word.len() <= bounds.arg_bytes));
            self.talk.commands.push(words);
            match self.session.queue(&command, bounds.transaction_bytes) {
                None => self.answer_one(&command),
                Some(Err(said)) => self.say(&said),
                Some(Ok(queue)) => {
                    let mut said = Vec::new();
                    Reply::new(&mut said, self.session.version()).array(queue.len());
                    self.say(&said);
                    queue.iter().for_each(|command| self.answer_one(&command));
                }
            }
        }
    }

    fn answer_one(&mut self, command: &Command<'_>) {
        let engine = &self.service.engine;
        let policies = engine.policies();
        let read = read(command, &mut self.session, || &policies, &self.service.rates);
        let answer = match &read {
            Parsed::Reply(_) => None,
            Parsed::Operation(operation, _) => {
                assert_eq!(operation.items().count(), operation.len(), "every limit has its key");
                Some(at_once(engine.answer_one(0, operation)))
            }
        };
        let mut said = Vec::new();
        write(&read, answer.as_ref(), self.session.version(), &mut said);
        self.say(&said);
    }

    fn say(&mut self, said: &[u8]) {
        if self.session.is_answered() {
            assert!(said.ends_with(b"\r\n"), "{}", said.escape_ascii());
            self.talk.answers.extend_from_slice(said);
        }
    }
}
