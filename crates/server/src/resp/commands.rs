//! `COMMAND`: the list of commands, for clients that read it before they send anything.

use std::sync::LazyLock;

use tollgate_core::Act;

use super::errors::wrong_subcommand;
use super::parse::Command;
use super::reply::Reply;

/// The description of one command, as Redis has it.
struct CommandSpec {
    name: String,
    /// Number of arguments including the name; if negative, the minimum number.
    arity: i64,
    /// Index of the key argument; 0 if there is none.
    key: i64,
    summary: &'static str,
}

/// All commands except `TG.…`: name, arity, index of the key, summary.
const REDIS_COMMANDS: [(&str, i64, i64, &str); 16] = [
    ("auth", -2, 0, "Authenticates the connection."),
    ("cl.throttle", -5, 1, "Checks a limit given in the command, as redis-cell does."),
    ("client", -2, 0, "Manages the name and the options of the connection."),
    ("cluster", -2, 0, "Returns an error, as cluster mode is not supported."),
    ("command", -1, 0, "Returns the list of commands."),
    ("config", -2, 0, "Returns a few settings that tools read."),
    ("discard", 1, 0, "Discards the commands queued since MULTI."),
    ("echo", 2, 0, "Returns the given string."),
    ("exec", 1, 0, "Executes the commands queued since MULTI."),
    ("hello", -1, 0, "Negotiates the protocol version."),
    ("info", -1, 0, "Returns information about the server."),
    ("multi", 1, 0, "Queues the following commands until EXEC."),
    ("ping", -1, 0, "Returns PONG."),
    ("quit", -1, 0, "Closes the connection."),
    ("reset", 1, 0, "Resets the connection."),
    ("select", 2, 0, "Selects database 0, which is the only one."),
];

static COMMANDS: LazyLock<Vec<CommandSpec>> = LazyLock::new(|| {
    let redis = REDIS_COMMANDS.into_iter().map(|(name, arity, key, summary)| CommandSpec {
        name: name.to_owned(),
        arity,
        key,
        summary,
    });
    let tg = Act::ALL.into_iter().map(|act| CommandSpec {
        name: format!("tg.{act}"),
        arity: -2,
        key: 2,
        summary: summary(act),
    });
    redis.chain(tg).collect()
});

fn summary(act: Act) -> &'static str {
    match act {
        Act::Check => "Decides whether a request is allowed, and takes its cost if so.",
        Act::Peek => "Returns what a check would decide, and changes nothing.",
        Act::Refund => "Gives cost back.",
        Act::Charge => "Takes cost even if the limits would deny it.",
        Act::Reset => "Resets a key.",
        Act::Reserve => "Checks an estimated cost that is settled later.",
        Act::Settle => "Corrects the cost of a reservation.",
        Act::Release => "Releases a lease.",
        Act::Renew => "Renews a lease.",
        _ => "Performs an operation on a key.",
    }
}

/// Returns whether the number of arguments is valid, or `None` if the command is unknown.
pub(super) fn is_arity_valid(command: &Command<'_>) -> Option<bool> {
    let spec = find(command.arg(0)?)?;
    let args = i64::try_from(command.len()).unwrap_or(i64::MAX);
    Some(if spec.arity < 0 { args >= -spec.arity } else { args == spec.arity })
}

const SUBCOMMANDS: [&str; 6] = ["COUNT", "DOCS", "GETKEYS", "HELP", "INFO", "LIST"];

/// `COMMAND [COUNT | DOCS [name …] | INFO [name …] | LIST | GETKEYS command …]`
pub(super) fn command(command: &Command<'_>, reply: &mut Reply<'_>) {
    let subcommand = command.arg(1).unwrap_or_default().to_ascii_uppercase();
    match (subcommand.as_slice(), command.len()) {
        (_, 1) => {
            reply.array(COMMANDS.len());
            COMMANDS.iter().for_each(|spec| spec.describe(reply));
        }
        (b"COUNT", 2) => reply.number(i64::try_from(COMMANDS.len()).unwrap_or(i64::MAX)),
        (b"LIST", 2) => {
            reply.array(COMMANDS.len());
            COMMANDS.iter().for_each(|spec| reply.bulk(spec.name.as_bytes()));
        }
        (b"INFO", _) => {
            reply.array(command.len().saturating_sub(2));
            for name in command.args_from(2) {
                match find(name) {
                    Some(spec) => spec.describe(reply),
                    None => reply.null_array(),
                }
            }
        }
        (b"DOCS", _) => docs(command, reply),
        (b"GETKEYS", 3..) => get_keys(command, reply),
        (b"HELP", 2) => reply.simple_strings(&SUBCOMMANDS),
        _ => reply.error(&wrong_subcommand(command, &SUBCOMMANDS)),
    }
}

fn find(name: &[u8]) -> Option<&'static CommandSpec> {
    COMMANDS.iter().find(|spec| spec.name.as_bytes().eq_ignore_ascii_case(name))
}

/// Writes the documentation of the named commands, or of all.
fn docs(command: &Command<'_>, reply: &mut Reply<'_>) {
    let specs: Vec<&CommandSpec> = match command.len() {
        ..=2 => COMMANDS.iter().collect(),
        _ => command.args_from(2).filter_map(find).collect(),
    };
    reply.map(specs.len());
    for spec in specs {
        reply.bulk(spec.name.as_bytes());
        reply.map(2);
        reply.bulk(b"summary");
        reply.bulk(spec.summary.as_bytes());
        reply.bulk(b"group");
        reply.bulk(b"module");
    }
}

fn get_keys(command: &Command<'_>, reply: &mut Reply<'_>) {
    let spec = command.arg(2).and_then(find).filter(|spec| spec.key > 0);
    let key = spec.and_then(|spec| command.arg(2 + usize::try_from(spec.key).ok()?));
    match key {
        Some(key) => {
            reply.array(1);
            reply.bulk(key);
        }
        None => reply.error(b"ERR Invalid command specified, or it has no keys"),
    }
}

impl CommandSpec {
    /// Writes ten fields, of which clients read the first six.
    fn describe(&self, reply: &mut Reply<'_>) {
        reply.array(10);
        reply.bulk(self.name.as_bytes());
        reply.number(self.arity);
        reply.array(1);
        reply.simple(if self.key > 0 { "write" } else { "fast" });
        // The first key, the last key and the step between keys.
        for number in [self.key, self.key, i64::from(self.key > 0)] {
            reply.number(number);
        }
        // ACL categories, tips, key specifications, subcommands.
        for _ in 0..4 {
            reply.array(0);
        }
    }
}
