//! `TG.CHECK policy key [COST n] [FACTOR f] [ID id]`, and the same for every other operation.

use smallvec::SmallVec;
use tollgate_core::{Act, Decimal, Id, MAX_COST};

use super::keys;
use super::parse::Command;
use crate::engine::operation::{Operation, Options};
use crate::engine::policies::Policies;
use crate::error::excerpt_lossy;

/// Parses the command of an act.
///
/// # Errors
/// Returns the message of the error reply if the command is invalid.
pub(crate) fn parse<'a>(
    act: Act,
    command: &Command<'a>,
    policies: &'a Policies,
) -> Result<Operation<'a>, String> {
    let name = command.arg(1).ok_or_else(|| usage(act))?;
    let policy = policies.find(name)?;
    // If the policy needs a key, the first argument is one, even if it looks like an option.
    let first = usize::from(command.len() > 2 && !policy.required().is_empty());
    let more = command.args_from(2 + first).take_while(|arg| !is_option(arg)).count();
    let keys: SmallVec<[&[u8]; 2]> = command.args_from(2).take(first + more).collect();
    let keys = keys::parse(policy.required(), &keys)?.ok_or_else(|| usage(act))?;
    let options = parse_options(act, command.args_from(2 + first + more))?;
    if act.needs_id() && options.id.is_none() {
        return Err(format!("TG.{} requires an ID", upper(act)));
    }
    Operation::new(policy, keys, act, options)
}

const COST: &str = "COST";
const FACTOR: &str = "FACTOR";
const ID: &str = "ID";

fn is_option(arg: &[u8]) -> bool {
    [COST, FACTOR, ID].iter().any(|option| option.as_bytes().eq_ignore_ascii_case(arg))
}

/// Parses the options that follow the keys.
fn parse_options<'a>(
    act: Act,
    mut args: impl Iterator<Item = &'a [u8]>,
) -> Result<Options<'a>, String> {
    let mut options = Options::default();
    while let Some(arg) = args.next() {
        let name = arg.to_ascii_uppercase();
        let value = args.next().filter(|_| is_option(arg)).ok_or_else(|| usage(act))?;
        let is_new = match name.as_slice() {
            b"COST" => options.cost.replace(parse_cost(value)?).is_none(),
            b"FACTOR" => options.factor.replace(parse_factor(value)?).is_none(),
            _ => options.id.replace(parse_id(value)?).is_none(),
        };
        if !is_new {
            return Err(format!("duplicate option {}", String::from_utf8_lossy(&name)));
        }
    }
    Ok(options)
}

fn parse_cost(arg: &[u8]) -> Result<u64, String> {
    let text = std::str::from_utf8(arg).ok().filter(|text| !text.starts_with('+'));
    let cost = text.and_then(|text| text.parse().ok()).filter(|cost| *cost <= MAX_COST);
    cost.ok_or_else(|| {
        let value = excerpt_lossy(arg);
        format!("{COST} '{value}': expected a whole number from 0 to {MAX_COST}")
    })
}

fn parse_factor(arg: &[u8]) -> Result<Decimal, String> {
    let text = String::from_utf8_lossy(arg);
    text.parse().map_err(|error| format!("{FACTOR} '{}': {error}", excerpt_lossy(arg)))
}

fn parse_id(arg: &[u8]) -> Result<Id<'_>, String> {
    Id::new(arg).map_err(|error| error.to_string())
}

#[cold]
fn usage(act: Act) -> String {
    let id = if act.needs_id() { "ID id" } else { "[ID id]" };
    format!("usage: TG.{} policy key [COST n] [FACTOR f] {id}", upper(act))
}

fn upper(act: Act) -> String {
    act.name().to_ascii_uppercase()
}
