//! `COMMAND`: which commands there are, for clients that ask before they send.

use tollgate_core::Act;

use super::mistakes::wrong_subcommand;
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

/// Commands without keys: name, arity, what it is for.
const PLAIN: [(&str, i64, &str); 16] = [
    ("auth", -2, "Authenticates the connection."),
    ("client", -2, "What the connection is called, and what it wants."),
    ("cluster", -2, "Says that this is no cluster."),
    ("command", -1, "Which commands there are."),
    ("config", -2, "A few settings that tools ask for."),
    ("discard", 1, "Forgets what was sent since MULTI."),
    ("echo", 2, "Answers with what was sent."),
    ("exec", 1, "Does what was sent since MULTI."),
    ("hello", -1, "Agrees on the version of the protocol."),
    ("info", -1, "What this server is."),
    ("multi", 1, "Has what follows wait for EXEC."),
    ("ping", -1, "Answers PONG."),
    ("quit", -1, "Closes the connection."),
    ("reset", 1, "Makes the connection as new."),
    ("select", 2, "Chooses database 0, which is the only one."),
    ("cl.throttle", -5, ""),
];

fn all() -> impl Iterator<Item = Known> {
    let plain = PLAIN.iter().map(|(name, arity, summary)| match *name {
        "cl.throttle" => Known {
            name: (*name).to_owned(),
            arity: *arity,
            key: 1,
            summary: "Checks a limit that comes with the command, as redis-cell does.",
        },
        _ => Known { name: (*name).to_owned(), arity: *arity, key: 0, summary },
    });
    let ours = Act::ALL.into_iter().map(|act| Known {
        name: format!("tg.{act}"),
        arity: -3,
        key: 2,
        summary: summary(act),
    });
    plain.chain(ours)
}

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

/// Whether there is a command of this name.
pub(super) fn is_known(name: &[u8]) -> bool {
    let plain = PLAIN.iter().any(|(known, ..)| known.as_bytes().eq_ignore_ascii_case(name));
    plain || super::act_of(name).is_some()
}

const KNOWN: [&str; 6] = ["COUNT", "DOCS", "GETKEYS", "HELP", "INFO", "LIST"];

/// `COMMAND [COUNT | DOCS [name …] | INFO [name …] | LIST | GETKEYS command …]`
pub(super) fn answer(command: &Command<'_>, reply: &mut Reply<'_>) {
    let what = command.word(1).unwrap_or_default().to_ascii_uppercase();
    let count = all().count();
    match (what.as_slice(), command.len()) {
        (_, 1) => {
            reply.array(count);
            all().for_each(|known| known.describe(reply));
        }
        (b"COUNT", 2) => reply.number(i64::try_from(count).unwrap_or(i64::MAX)),
        (b"LIST", 2) => {
            reply.array(count);
            all().for_each(|known| reply.bulk(known.name.as_bytes()));
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

fn find(name: &[u8]) -> Option<Known> {
    all().find(|known| known.name.as_bytes().eq_ignore_ascii_case(name))
}

/// Those that were asked for, or all.
fn docs(command: &Command<'_>, reply: &mut Reply<'_>) {
    let found: Vec<Known> = match command.len() {
        ..=2 => all().collect(),
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
