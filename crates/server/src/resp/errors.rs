//! Errors for invalid commands, with the texts of Redis where it has one.

use super::parse::Command;
use crate::error::{MAX_EXCERPT_BYTES, excerpt};

/// Returns the error for an unknown command.
pub(super) fn unknown(command: &Command<'_>) -> Vec<u8> {
    let name = excerpt(command.arg(0).unwrap_or_default());
    let mut text = [b"ERR unknown command '", name, b"', with args beginning with: "].concat();
    let mut left = MAX_EXCERPT_BYTES;
    for arg in command.args_from(1) {
        let arg = arg.get(..left).unwrap_or(arg);
        text.extend([b"'", arg, b"' "].concat());
        left = left.saturating_sub(arg.len());
        if left == 0 {
            break;
        }
    }
    text
}

/// Returns the error for a wrong number of arguments.
pub(super) fn wrong_arity(command: &Command<'_>) -> Vec<u8> {
    wrong_arity_of(&command.arg(0).unwrap_or_default().to_ascii_lowercase())
}

/// Returns the error for an unknown subcommand, as in `CLIENT NOPE`, or for a wrong number of arguments of a
/// known one, as in `CLIENT SETNAME` without a name.
pub(super) fn wrong_subcommand(command: &Command<'_>, subcommands: &[&str]) -> Vec<u8> {
    let arg = |index| command.arg(index).unwrap_or_default();
    let is_it = |subcommand: &&str| subcommand.as_bytes().eq_ignore_ascii_case(arg(1));
    if subcommands.iter().any(is_it) {
        let name = [arg(0), b"|", arg(1)].concat().to_ascii_lowercase();
        return wrong_arity_of(&name);
    }
    let name = arg(0).to_ascii_uppercase();
    [b"ERR unknown subcommand '", excerpt(arg(1)), b"'. Try ", &name, b" HELP."].concat()
}

fn wrong_arity_of(name: &[u8]) -> Vec<u8> {
    [b"ERR wrong number of arguments for '", name, b"' command"].concat()
}
