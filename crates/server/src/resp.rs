//! The Redis protocol: everything that arrived is read, decided in one call, and answered in one
//! write.

mod client;
mod commands;
mod connection;
mod errors;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod hello;
mod info;
mod inline;
mod parse;
mod reply;
mod service;
mod session;
mod subjects;
mod tg;
mod throttle;
mod transaction;

use tollgate_core::Act;

use crate::engine::operation::Operation;
use crate::engine::policies::Policies;
use parse::Command;
use reply::Reply;
use session::Session;
use throttle::Rates;

pub(crate) use connection::serve;
pub(crate) use service::Service;

/// What a client is sent that exceeds the limit on connections.
pub(crate) const CONNECTION_REFUSED: &[u8] = b"-ERR max number of clients reached\r\n";

/// The command of redis-cell.
const THROTTLE: &str = "cl.throttle";

/// A command that was read, and how it will be answered.
enum Parsed<'a> {
    /// An operation, and how its answer is written.
    Operation(Operation<'a>, Dialect),
    /// It is answered already.
    Reply(Vec<u8>),
}

/// How a decision is written.
#[derive(Clone, Copy)]
enum Dialect {
    /// As redis-cell does.
    Throttle,
    /// As we do.
    Ours,
}

/// Reads a command.
fn read<'a>(
    command: &Command<'a>,
    session: &mut Session,
    policies: impl FnOnce() -> &'a Policies,
    rates: &Rates,
) -> Parsed<'a> {
    let name = command.word(0).unwrap_or_default();
    let (operation, dialect) = if name.eq_ignore_ascii_case(THROTTLE.as_bytes()) {
        (throttle::read(command, rates), Dialect::Throttle)
    } else if let Some(act) = act_of(name) {
        (tg::read(act, command, policies()), Dialect::Ours)
    } else {
        return Parsed::Reply(session.answer(command));
    };
    match operation {
        Ok(operation) => Parsed::Operation(operation, dialect),
        Err(mistake) => Parsed::Reply(refusal(&mistake, session)),
    }
}

#[cold]
fn refusal(mistake: &str, session: &Session) -> Vec<u8> {
    let mut out = Vec::new();
    Reply::new(&mut out, session.version()).error(format!("ERR {mistake}").as_bytes());
    out
}

/// The act of `TG.NAME`.
fn act_of(name: &[u8]) -> Option<Act> {
    let (prefix, act) = name.split_at_checked(3)?;
    if !prefix.eq_ignore_ascii_case(b"TG.") {
        return None;
    }
    Act::ALL.into_iter().find(|known| known.name().as_bytes().eq_ignore_ascii_case(act))
}
