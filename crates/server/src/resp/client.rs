//! `CLIENT`: the name and the options of a connection.

use super::errors::wrong_subcommand;
use super::parse::Command;
use super::reply::Reply;
use super::session::{ReplyMode, Session, valid_name};

const SUBCOMMANDS: [&str; 11] = [
    "GETNAME", "HELP", "ID", "INFO", "LIST", "NO-EVICT", "NO-TOUCH", "REPLY", "SETINFO", "SETNAME",
    "TRACKING",
];

impl Session {
    pub(super) fn client(&mut self, command: &Command<'_>, out: &mut Vec<u8>) {
        let mut reply = Reply::new(out, self.version);
        let subcommand = command.arg(1).unwrap_or_default().to_ascii_uppercase();
        let arg = |index| command.arg(index).unwrap_or_default();
        match (subcommand.as_slice(), command.len()) {
            (b"SETNAME", 3) => match valid_name(arg(2)) {
                Ok(name) => {
                    self.name = name;
                    reply.simple("OK");
                }
                Err(error) => reply.error(&error),
            },
            (b"GETNAME", 2) if self.name.is_empty() => reply.null(),
            (b"GETNAME", 2) => reply.bulk(&self.name),
            (b"ID", 2) => reply.number(self.id),
            (b"SETINFO", 4) => reply.simple("OK"),
            (b"NO-EVICT" | b"NO-TOUCH", 3) => on_or_off(arg(2), true, &mut reply),
            (b"TRACKING", 3..) => on_or_off(arg(2), false, &mut reply),
            (b"INFO", 2) | (b"LIST", 2..) => reply.text(&self.describe()),
            (b"REPLY", 3) => self.set_reply_mode(arg(2), &mut reply),
            (b"HELP", 2) => reply.simple_strings(&SUBCOMMANDS),
            _ => reply.error(&wrong_subcommand(command, &SUBCOMMANDS)),
        }
    }

    fn describe(&self) -> String {
        let (name, version) = (String::from_utf8_lossy(&self.name), self.version.number());
        format!("id={} name={name} db=0 resp={version}\n", self.id)
    }

    /// Handles `CLIENT REPLY`. Only `ON` gets a reply itself.
    fn set_reply_mode(&mut self, mode: &[u8], reply: &mut Reply<'_>) {
        match mode.to_ascii_uppercase().as_slice() {
            b"ON" => {
                self.reply_mode = ReplyMode::On;
                reply.simple("OK");
            }
            b"OFF" => self.reply_mode = ReplyMode::Off,
            b"SKIP" if self.reply_mode == ReplyMode::Off => {}
            b"SKIP" => self.reply_mode = ReplyMode::SkipNext,
            _ => reply.error(b"ERR syntax error"),
        }
    }
}

/// Handles options that some clients set on every server. No key is ever evicted or touched, so those
/// options have no effect; clients are not notified of changed keys, so tracking cannot be switched on.
fn on_or_off(mode: &[u8], can_be_on: bool, reply: &mut Reply<'_>) {
    match mode.to_ascii_uppercase().as_slice() {
        b"OFF" => reply.simple("OK"),
        b"ON" if can_be_on => reply.simple("OK"),
        b"ON" => reply.error(b"ERR client tracking is not supported"),
        _ => reply.error(b"ERR syntax error"),
    }
}
