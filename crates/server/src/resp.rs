//! The Redis protocol. All commands that have arrived are parsed, decided in one call, and replied to in
//! one write.

mod client;
mod commands;
mod connection;
mod errors;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod hello;
mod info;
mod inline;
mod keys;
mod parse;
mod reply;
mod service;
mod session;
mod tg;
mod throttle;
mod transaction;
mod verbose;

use tollgate_core::Act;

use crate::engine::operation::Operation;
use crate::engine::policies::Policies;
use parse::Command;
use reply::Reply;
use session::Session;
use throttle::LimitCache;

pub(crate) use connection::serve;
pub(crate) use service::Service;

/// What a client is sent that exceeds the limit on connections.
pub(crate) const CONNECTION_REFUSED: &[u8] = b"-ERR max number of clients reached\r\n";

/// The command of redis-cell.
const CL_THROTTLE: &str = "cl.throttle";

/// A parsed command.
enum Parsed<'a> {
    /// An operation, and the format of its reply.
    Operation(Operation<'a>, ReplyFormat),
    /// The reply to a command that needs no decision.
    Reply(Vec<u8>),
}

/// The format of a decision.
#[derive(Clone, Copy)]
enum ReplyFormat {
    /// The format of redis-cell.
    RedisCell,
    /// The format of the `TG.` commands.
    Tollgate,
    /// The format of the `TG.` commands with `VERBOSE`.
    Verbose,
}

/// Parses a command. Commands that are not operations are executed at once.
fn parse<'a>(
    command: &Command<'a>,
    session: &mut Session,
    policies: impl FnOnce() -> &'a Policies,
    limits: &LimitCache,
) -> Parsed<'a> {
    let name = command.arg(0).unwrap_or_default();
    let parsed = if name.eq_ignore_ascii_case(CL_THROTTLE.as_bytes()) {
        throttle::parse(command, limits).map(|operation| (operation, ReplyFormat::RedisCell))
    } else if let Some(act) = tg_act(name) {
        tg::parse(act, command, policies())
    } else {
        return Parsed::Reply(session.execute(command));
    };
    match parsed {
        Ok((operation, format)) => Parsed::Operation(operation, format),
        Err(message) => Parsed::Reply(error_reply(&message, session)),
    }
}

#[cold]
fn error_reply(message: &str, session: &Session) -> Vec<u8> {
    let mut out = Vec::new();
    Reply::new(&mut out, session.version()).error(format!("ERR {message}").as_bytes());
    out
}

/// Returns the act of the command `TG.ACT`.
fn tg_act(name: &[u8]) -> Option<Act> {
    let (prefix, act) = name.split_at_checked(3)?;
    if !prefix.eq_ignore_ascii_case(b"TG.") {
        return None;
    }
    Act::ALL.into_iter().find(|known| known.name().as_bytes().eq_ignore_ascii_case(act))
}
