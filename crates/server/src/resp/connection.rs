//! One connection: what arrives is answered, as soon as it can be read and written.

use std::cell::LazyCell;
use std::rc::Rc;

use smallvec::SmallVec;
use tokio::net::TcpStream;
use tokio::task::yield_now;

use super::parse::{Broken, Command, Commands};
use super::reply::{Reply, Version};
use super::session::Session;
use super::transaction::Queue;
use super::{Dialect, Read, read};
use crate::bounds::RespBounds;
use crate::engine::Answer;
use crate::engine::policies::Policies;
use crate::host::event_loop::Loop;
use crate::host::wire::{Event, Unread, Wire};

pub(crate) struct Connection {
    wire: Wire,
    session: Session,
}

/// Why a connection does not go on.
enum End {
    /// What follows would be misread.
    Broken(Broken),
    Unread(Unread),
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, number: u64, home: Rc<Loop>) -> Connection {
        let wire = Wire::new(stream, number, home, |home| &home.resp);
        Connection { wire, session: Session::new(number) }
    }

    fn bounds(&self) -> &RespBounds {
        &self.wire.home.bounds().resp
    }

    /// Answers until one side leaves.
    pub(crate) async fn serve(mut self) {
        while let Event::Came(mut buffer, filled) = self.wire.next().await {
            let mut commands = self.wire.home.commands.take().unwrap_or_default();
            let bytes = buffer.get_mut(..filled).unwrap_or_default();
            let (taken, answered) = self.answer(&mut commands, bytes).await;
            self.wire.home.commands.give_back(commands);
            match answered {
                Ok(()) => {}
                Err(End::Broken(broken)) => self.say_goodbye(broken),
                Err(End::Unread(Unread)) => return,
            }
            let is_full = filled == buffer.len();
            self.wire.leaving |= self.session.leaving;
            self.wire.keep(buffer, taken, filled);
            if is_full {
                // Others have waited.
                yield_now().await;
            }
        }
        self.wire.close().await;
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
            let (taken, parsed) = commands.parse(left, self.bounds());
            let whole = commands.len();
            let answered = self.answer_all(commands, left).await;
            start += taken;
            let ended = match answered {
                Err(unread) => Err(End::Unread(unread)),
                Ok(()) if self.session.leaving => Ok(()),
                Ok(()) => parsed.map_err(End::Broken),
            };
            let is_last = whole < self.bounds().pipeline || self.session.leaving;
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
            self.wire.drain().await?;
            let Some(queue) = queue else { continue };
            if self.session.is_answered() {
                Reply::new(&mut self.wire.out, self.session.version()).array(queue.len());
            }
            let mut queued = queue.iter().peekable();
            while queued.peek().is_some() {
                let some = self.bounds().pipeline;
                self.answer_some(&mut queued.by_ref().take(some)).await;
                self.wire.drain().await?;
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
        let Connection { session, wire: Wire { home, out, .. } } = self;
        let policies = LazyCell::new(|| home.engine().policies());
        let read = match hear(&commands.next()?, session, home, || &policies) {
            Ok(read) => read,
            Err(queue) => return Some(queue),
        };
        let answered = session.is_answered();
        let answer = match &read {
            Read::Ask(ask, _) => Some(home.engine().answer_alone(home.place(), ask).await),
            Read::Said(_) => None,
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
        let Connection { session, wire: Wire { home, out, .. } } = self;
        // These hold for all that came together, whatever is set meanwhile.
        let policies = LazyCell::new(|| home.engine().policies());
        let mut reads: SmallVec<[(Read<'_>, bool); 1]> =
            SmallVec::with_capacity(commands.size_hint().0);
        let (mut exec, mut said_bytes) = (None, 0);
        for command in commands {
            let read = match hear(&command, session, home, || &policies) {
                Ok(read) => read,
                Err(queue) => {
                    exec = Some(queue);
                    break;
                }
            };
            if let Read::Said(said) = &read {
                said_bytes += said.len();
            }
            reads.push((read, session.is_answered()));
            if session.leaving || said_bytes >= home.bounds().resp.unread_bytes {
                break;
            }
        }
        let asks = reads.iter().filter_map(|(read, _)| match read {
            Read::Ask(ask, _) => Some(ask),
            Read::Said(_) => None,
        });
        let mut answers = home.engine().answer(home.place(), asks).await.into_iter();
        for (read, answered) in &reads {
            let answer = matches!(read, Read::Ask(..)).then(|| answers.next()).flatten();
            if *answered {
                write(read, answer.as_ref(), session.version(), out);
            }
        }
        exec
    }

    /// What follows would be misread: says why, and leaves.
    fn say_goodbye(&mut self, broken: Broken) {
        self.session.leaving = true;
        if broken != Broken::Foreign {
            let text = format!("ERR Protocol error: {broken}");
            Reply::new(&mut self.wire.out, self.session.version()).error(text.as_bytes());
        }
    }
}

/// Reads a command.
///
/// # Errors
/// What was queued, if it is to be done now.
fn hear<'a>(
    command: &Command<'a>,
    session: &mut Session,
    home: &Loop,
    policies: impl FnOnce() -> &'a Policies,
) -> Result<Read<'a>, Box<Queue>> {
    match session.queue(command, home.bounds().resp.transaction_bytes) {
        None => Ok(read(command, session, policies, &home.rates)),
        Some(Err(said)) => Ok(Read::Said(said)),
        Some(Ok(queue)) => Err(queue),
    }
}

/// Writes what was read, or what it was answered.
pub(super) fn write(read: &Read<'_>, answer: Option<&Answer>, version: Version, out: &mut Vec<u8>) {
    match (read, answer) {
        (Read::Said(said), _) => out.extend_from_slice(said),
        (Read::Ask(_, Dialect::Throttle), Some(answer)) => {
            Reply::new(out, version).throttle(answer);
        }
        (Read::Ask(_, Dialect::Ours), Some(answer)) => Reply::new(out, version).decision(answer),
        (Read::Ask(..), None) => {}
    }
}
