//! `INFO` and `CONFIG GET`: what tools read before anything else.

use std::fmt::Write as _;

use super::errors::wrong_subcommand;
use super::parse::Command;
use super::reply::Reply;

/// The version of Redis whose replies we follow.
pub(super) const REDIS_VERSION: &str = "7.0.15";

/// The settings that tools read, with the values they expect.
const SETTINGS: [(&str, &str); 2] = [("save", ""), ("appendonly", "no")];

/// `INFO [section …]`
pub(super) fn info(command: &Command<'_>) -> String {
    let all = ["default", "all", "everything"];
    let requested: Vec<String> =
        command.args_from(1).map(|arg| String::from_utf8_lossy(arg).to_ascii_lowercase()).collect();
    let is_requested = |section: &str| {
        requested.is_empty()
            || requested.iter().any(|name| name == section || all.contains(&name.as_str()))
    };
    let mut text = String::new();
    for (section, lines) in sections() {
        if is_requested(&section.to_ascii_lowercase()) {
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
    const SUBCOMMANDS: [&str; 2] = ["GET", "HELP"];
    let subcommand = command.arg(1).unwrap_or_default().to_ascii_uppercase();
    match (subcommand.as_slice(), command.len()) {
        (b"GET", 3..) => settings(command, reply),
        (b"HELP", 2) => reply.simple_strings(&SUBCOMMANDS),
        _ => reply.error(&wrong_subcommand(command, &SUBCOMMANDS)),
    }
}

fn settings(command: &Command<'_>, reply: &mut Reply<'_>) {
    let is_requested = |name: &str| {
        let matches =
            |pattern: &[u8]| pattern == b"*" || pattern.eq_ignore_ascii_case(name.as_bytes());
        command.args_from(2).any(matches)
    };
    let requested: Vec<_> = SETTINGS.iter().filter(|(name, _)| is_requested(name)).collect();
    reply.map(requested.len());
    for (name, value) in requested {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
}
