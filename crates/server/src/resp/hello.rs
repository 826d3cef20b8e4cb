//! `HELLO` and `AUTH`: protocol version and authentication. There are no passwords yet.

use super::info::REDIS_VERSION;
use super::parse::Command;
use super::reply::{Reply, Version};
use super::session::{Session, valid_name};
use crate::error::excerpt;

/// The only user. Any password is accepted.
const USER: &[u8] = b"default";

const WRONG_PASSWORD: &[u8] = b"WRONGPASS invalid username-password pair or user is disabled.";
const NO_PASSWORD: &[u8] = b"ERR AUTH <password> called without any password configured for the \
default user. Are you sure your configuration is correct?";

/// `AUTH [user] password`
pub(super) fn auth(command: &Command<'_>, reply: &mut Reply<'_>) {
    match (command.len(), command.arg(1)) {
        (2, _) => reply.error(NO_PASSWORD),
        (_, Some(USER)) => reply.simple("OK"),
        _ => reply.error(WRONG_PASSWORD),
    }
}

impl Session {
    /// `HELLO [2|3 [AUTH user password] [SETNAME name]]`
    pub(super) fn hello(&mut self, command: &Command<'_>, out: &mut Vec<u8>) {
        match self.apply_hello(command) {
            Ok(()) => self.write_hello(&mut Reply::new(out, self.version)),
            Err(error) => Reply::new(out, self.version).error(&error),
        }
    }

    fn apply_hello(&mut self, command: &Command<'_>) -> Result<(), Vec<u8>> {
        let version = command.arg(1).map_or(Ok(self.version), parse_version)?;
        let mut args = command.args_from(2);
        let mut name = None;
        while let Some(option) = args.next() {
            let mut value = || args.next().ok_or_else(|| bad_option(option));
            match option.to_ascii_uppercase().as_slice() {
                b"SETNAME" => name = Some(valid_name(value()?)?),
                b"AUTH" => {
                    let (user, _password) = (value()?, value()?);
                    if user != USER {
                        return Err(WRONG_PASSWORD.to_vec());
                    }
                }
                _ => return Err(bad_option(option)),
            }
        }
        self.version = version;
        self.name = name.unwrap_or(std::mem::take(&mut self.name));
        Ok(())
    }

    fn write_hello(&self, reply: &mut Reply<'_>) {
        let write_pairs = |reply: &mut Reply<'_>, pairs: [(&str, &str); 2]| {
            for (name, value) in pairs {
                reply.bulk(name.as_bytes());
                reply.bulk(value.as_bytes());
            }
        };
        reply.map(7);
        write_pairs(reply, [("server", "redis"), ("version", REDIS_VERSION)]);
        reply.bulk(b"proto");
        reply.number(self.version.number());
        reply.bulk(b"id");
        reply.number(self.id);
        write_pairs(reply, [("mode", "standalone"), ("role", "master")]);
        reply.bulk(b"modules");
        reply.array(0);
    }
}

fn parse_version(arg: &[u8]) -> Result<Version, Vec<u8>> {
    // Redis rejects numbers with leading zeros.
    let digits = arg.strip_prefix(b"-").unwrap_or(arg);
    let text = std::str::from_utf8(arg).ok().filter(|_| !digits.starts_with(b"0") || arg == b"0");
    match text.and_then(|text| text.parse::<i64>().ok()) {
        Some(2) => Ok(Version::Two),
        Some(3) => Ok(Version::Three),
        Some(_) => Err(b"NOPROTO unsupported protocol version".to_vec()),
        None => Err(b"ERR Protocol version is not an integer or out of range".to_vec()),
    }
}

fn bad_option(option: &[u8]) -> Vec<u8> {
    [b"ERR Syntax error in HELLO option '", excerpt(option), b"'"].concat()
}
