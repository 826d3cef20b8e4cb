//! `COMMAND`: which commands there are, for clients that operation before they send.

use std::sync::LazyLock;

use tollgate_core::Act;

use super::errors::wrong_subcommand;
use super::parse::Command;
use super::reply::Reply;

/// One command, as Redis describes its own.
struct Known {
    name: String,
    /// How many words, the name among them; if negative, at least so many.
    arity: i64,
    /// Where its key stands; 0 if it has none.
    key: i64,
    summary: &'static str,
}

/// All commands but ours for policies: name, arity, key, what it is for.
const PLAIN: [(&str, i64, i64, &str); 16] = [
    ("auth", -2, 0, "Authenticates the connection."),
    ("cl.throttle", -5, 1, "Checks a limit that comes with the command, as redis-cell does."),
    ("client", -2, 0, "What the connection is called, and what it wants."),
    ("cluster", -2, 0, "Says that this is no cluster."),
    ("command", -1, 0, "Which commands there are."),
    ("config", -2, 0, "A few settings that tools operation for."),
    ("discard", 1, 0, "Forgets what was sent since MULTI."),
    ("echo", 2, 0, "Answers with what was sent."),
    ("exec", 1, 0, "Does what was sent since MULTI."),
    ("hello", -1, 0, "Agrees on the version of the protocol."),
    ("info", -1, 0, "What this server is."),
    ("multi", 1, 0, "Has what follows wait for EXEC."),
    ("ping", -1, 0, "Answers PONG."),
    ("quit", -1, 0, "Closes the connection."),
    ("reset", 1, 0, "Makes the connection as new."),
    ("select", 2, 0, "Chooses database 0, which is the only one."),
];

static ALL: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let plain = PLAIN.into_iter().map(|(name, arity, key, summary)| Known {
        name: name.to_owned(),
        arity,
        key,
        summary,
    });
    let ours = Act::ALL.into_iter().map(|act| Known {
        name: format!("tg.{act}"),
        arity: -2,
        key: 2,
        summary: summary(act),
    });
    plain.chain(ours).collect()
});

fn summary(act: Act) -> &'static str {
    match act {
        Act::Check => "Whether a request may pass; if so, it is counted.",
        Act::Peek => "What a check would say.",
        Act::Refund => "Gives cost back.",
        Act::Charge => "Takes cost whatever the limits say.",
        Act::Reset => "Forgets a key.",
        Act::Reserve => "A check whose cost is an estimate.",
        Act::Settle => "Corrects a reservation.",
        Act::Release => "Gives a lease back.",
        Act::Renew => "Keeps a lease alive.",
        _ => "An operation on a key.",
    }
}

/// Whether a command has as many words as it must; `None` if there is no such command.
pub(super) fn fits(command: &Command<'_>) -> Option<bool> {
    let known = find(command.word(0)?)?;
    let words = i64::try_from(command.len()).unwrap_or(i64::MAX);
    Some(if known.arity < 0 { words >= -known.arity } else { words == known.arity })
}

const KNOWN: [&str; 6] = ["COUNT", "DOCS", "GETKEYS", "HELP", "INFO", "LIST"];

/// `COMMAND [COUNT | DOCS [name …] | INFO [name …] | LIST | GETKEYS command …]`
pub(super) fn answer(command: &Command<'_>, reply: &mut Reply<'_>) {
    let what = command.word(1).unwrap_or_default().to_ascii_uppercase();
    match (what.as_slice(), command.len()) {
        (_, 1) => {
            reply.array(ALL.len());
            ALL.iter().for_each(|known| known.describe(reply));
        }
        (b"COUNT", 2) => reply.number(i64::try_from(ALL.len()).unwrap_or(i64::MAX)),
        (b"LIST", 2) => {
            reply.array(ALL.len());
            ALL.iter().for_each(|known| reply.bulk(known.name.as_bytes()));
        }
        (b"INFO", _) => {
            reply.array(command.len().saturating_sub(2));
            for name in command.words_from(2) {
                match find(name) {
                    Some(known) => known.describe(reply),
                    None => reply.null_array(),
                }
            }
        }
        (b"DOCS", _) => docs(command, reply),
        (b"GETKEYS", 3..) => keys(command, reply),
        (b"HELP", 2) => reply.words(&KNOWN),
        _ => reply.error(&wrong_subcommand(command, &KNOWN)),
    }
}

fn find(name: &[u8]) -> Option<&'static Known> {
    ALL.iter().find(|known| known.name.as_bytes().eq_ignore_ascii_case(name))
}

/// Those that were asked for, or all.
fn docs(command: &Command<'_>, reply: &mut Reply<'_>) {
    let found: Vec<&Known> = match command.len() {
        ..=2 => ALL.iter().collect(),
        _ => command.words_from(2).filter_map(find).collect(),
    };
    reply.map(found.len());
    for known in found {
        reply.bulk(known.name.as_bytes());
        reply.map(2);
        reply.bulk(b"summary");
        reply.bulk(known.summary.as_bytes());
        reply.bulk(b"group");
        reply.bulk(b"module");
    }
}

fn keys(command: &Command<'_>, reply: &mut Reply<'_>) {
    let known = command.word(2).and_then(find).filter(|known| known.key > 0);
    let key = known.and_then(|known| command.word(2 + usize::try_from(known.key).ok()?));
    match key {
        Some(key) => {
            reply.array(1);
            reply.bulk(key);
        }
        None => reply.error(b"ERR Invalid command specified, or it has no keys"),
    }
}

impl Known {
    /// Ten parts, of which clients read the first six.
    fn describe(&self, reply: &mut Reply<'_>) {
        reply.array(10);
        reply.bulk(self.name.as_bytes());
        reply.number(self.arity);
        reply.array(1);
        reply.simple(if self.key > 0 { "write" } else { "fast" });
        for place in [self.key, self.key, i64::from(self.key > 0)] {
            reply.number(place);
        }
        // Categories, tips, other keys, subcommands.
        for _ in 0..4 {
            reply.array(0);
        }
    }
}
