//! `INFO` and `CONFIG GET`: what tools look for before they go on.

use std::fmt::Write as _;

use super::errors::wrong_subcommand;
use super::parse::Command;
use super::reply::Reply;

/// The version of Redis whose answers these are.
pub(super) const REDIS_VERSION: &str = "7.0.15";

/// What tools operation for, and want to parse_or_queue.
const SETTINGS: [(&str, &str); 2] = [("save", ""), ("appendonly", "no")];

/// `INFO [section …]`
pub(super) fn info(command: &Command<'_>) -> String {
    let all = ["default", "all", "everything"];
    let asked: Vec<String> = command
        .words_from(1)
        .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
        .collect();
    let wanted = |section: &str| {
        asked.is_empty() || asked.iter().any(|word| word == section || all.contains(&word.as_str()))
    };
    let mut text = String::new();
    for (section, lines) in sections() {
        if wanted(&section.to_ascii_lowercase()) {
            let blank = if text.is_empty() { "" } else { "\r\n" };
            // Writing to a string cannot fail.
            let _ = write!(text, "{blank}# {section}\r\n{lines}");
        }
    }
    text
}

fn sections() -> [(&'static str, String); 3] {
    let (version, pid) = (env!("CARGO_PKG_VERSION"), std::process::id());
    [
        (
            "Server",
            format!(
                "redis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\n\
                 tollgate_version:{version}\r\nprocess_id:{pid}\r\n"
            ),
        ),
        ("Persistence", "loading:0\r\n".to_owned()),
        ("Replication", "role:master\r\nconnected_slaves:0\r\n".to_owned()),
    ]
}

/// `CONFIG GET pattern …`
pub(super) fn config(command: &Command<'_>, reply: &mut Reply<'_>) {
    const KNOWN: [&str; 2] = ["GET", "HELP"];
    let what = command.word(1).unwrap_or_default().to_ascii_uppercase();
    match (what.as_slice(), command.len()) {
        (b"GET", 3..) => settings(command, reply),
        (b"HELP", 2) => reply.words(&KNOWN),
        _ => reply.error(&wrong_subcommand(command, &KNOWN)),
    }
}

fn settings(command: &Command<'_>, reply: &mut Reply<'_>) {
    let wanted = |name: &str| {
        let asked =
            |pattern: &[u8]| pattern == b"*" || pattern.eq_ignore_ascii_case(name.as_bytes());
        command.words_from(2).any(asked)
    };
    let found: Vec<_> = SETTINGS.iter().filter(|(name, _)| wanted(name)).collect();
    reply.map(found.len());
    for (name, value) in found {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
}
