//! `CLIENT`: what a connection is called, and what it wants.

use super::errors::wrong_subcommand;
use super::parse::Command;
use super::reply::Reply;
use super::session::{Replies, Session, valid_name};

const KNOWN: [&str; 11] = [
    "GETNAME", "HELP", "ID", "INFO", "LIST", "NO-EVICT", "NO-TOUCH", "REPLY", "SETINFO", "SETNAME",
    "TRACKING",
];

impl Session {
    pub(super) fn client(&mut self, command: &Command<'_>, out: &mut Vec<u8>) {
        let mut reply = Reply::new(out, self.version);
        let what = command.word(1).unwrap_or_default().to_ascii_uppercase();
        let word = |place| command.word(place).unwrap_or_default();
        match (what.as_slice(), command.len()) {
            (b"SETNAME", 3) => match valid_name(word(2)) {
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
            (b"NO-EVICT" | b"NO-TOUCH", 3) => on_or_off(word(2), true, &mut reply),
            (b"TRACKING", 3..) => on_or_off(word(2), false, &mut reply),
            (b"INFO", 2) | (b"LIST", 2..) => reply.text(&self.describe()),
            (b"REPLY", 3) => self.reply(word(2), &mut reply),
            (b"HELP", 2) => reply.words(&KNOWN),
            _ => reply.error(&wrong_subcommand(command, &KNOWN)),
        }
    }

    fn describe(&self) -> String {
        let (name, version) = (String::from_utf8_lossy(&self.name), self.version.number());
        format!("id={} name={name} db=0 resp={version}\n", self.id)
    }

    /// Only `ON` is answered itself.
    fn reply(&mut self, mode: &[u8], reply: &mut Reply<'_>) {
        match mode.to_ascii_uppercase().as_slice() {
            b"ON" => {
                self.replies = Replies::On;
                reply.simple("OK");
            }
            b"OFF" => self.replies = Replies::Off,
            b"SKIP" if self.replies == Replies::Off => {}
            b"SKIP" => self.replies = Replies::SkipNext,
            _ => reply.error(b"ERR syntax error"),
        }
    }
}

/// What some clients switch on for all servers. Nothing is ever evicted or touched; keys that change
/// are not told.
fn on_or_off(mode: &[u8], can_be_on: bool, reply: &mut Reply<'_>) {
    match mode.to_ascii_uppercase().as_slice() {
        b"OFF" => reply.simple("OK"),
        b"ON" if can_be_on => reply.simple("OK"),
        b"ON" => reply.error(b"ERR client tracking is not supported"),
        _ => reply.error(b"ERR syntax error"),
    }
}
