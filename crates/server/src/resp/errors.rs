//! What is said of commands that make no sense, in Redis' own words where it has some.

use super::parse::Command;
use crate::error::{MAX_TOLD, cut};

/// There is no such command.
pub(super) fn unknown(command: &Command<'_>) -> Vec<u8> {
    let name = cut(command.word(0).unwrap_or_default());
    let mut text = [b"ERR unknown command '", name, b"', with args beginning with: "].concat();
    let mut left = MAX_TOLD;
    for word in command.words_from(1) {
        let word = word.get(..left).unwrap_or(word);
        text.extend([b"'", word, b"' "].concat());
        left = left.saturating_sub(word.len());
        if left == 0 {
            break;
        }
    }
    text
}

/// There is, but not with so many words.
pub(super) fn wrong_arity(command: &Command<'_>) -> Vec<u8> {
    wrong_number(&command.word(0).unwrap_or_default().to_ascii_lowercase())
}

/// `CLIENT SETNAME` without a name, or `CLIENT NOPE`: these are the subcommands that there are.
pub(super) fn wrong_subcommand(command: &Command<'_>, known: &[&str]) -> Vec<u8> {
    let word = |place| command.word(place).unwrap_or_default();
    let is_it = |known: &&str| known.as_bytes().eq_ignore_ascii_case(word(1));
    if known.iter().any(is_it) {
        let name = [word(0), b"|", word(1)].concat().to_ascii_lowercase();
        return wrong_number(&name);
    }
    let name = word(0).to_ascii_uppercase();
    [b"ERR unknown subcommand '", cut(word(1)), b"'. Try ", &name, b" HELP."].concat()
}

fn wrong_number(name: &[u8]) -> Vec<u8> {
    [b"ERR wrong number of arguments for '", name, b"' command"].concat()
}
