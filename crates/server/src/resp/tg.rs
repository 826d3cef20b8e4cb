//! `TG.CHECK policy key [COST n] [COST unit=n ...] [FACTOR f] [ID id] [VERBOSE]`, and the same for every other
//! operation.

use smallvec::SmallVec;
use tollgate_core::{Act, Decimal, Id, MAX_COST, MAX_NAME_BYTES, Request};

use super::ReplyFormat;
use super::keys;
use super::parse::Command;
use crate::engine::operation::Operation;
use crate::engine::policies::Policies;
use crate::error::excerpt_lossy;

/// Parses the command of an act. Returns also the format of its reply.
///
/// # Errors
/// Returns the message of the error reply if the command is invalid.
pub(crate) fn parse<'a>(
    act: Act,
    command: &Command<'a>,
    policies: &'a Policies,
) -> Result<(Operation<'a>, ReplyFormat), String> {
    let name = command.arg(1).ok_or_else(|| usage(act))?;
    let policy = policies.find(name)?;
    // If the policy needs a key, the first argument is one, even if it looks like an option.
    let first = usize::from(command.len() > 2 && !policy.required().is_empty());
    let more = command.args_from(2 + first).take_while(|arg| !is_option(arg)).count();
    let keys: SmallVec<[&[u8]; 2]> = command.args_from(2).take(first + more).collect();
    let request = keys::parse(policy.required(), &keys)?.ok_or_else(|| usage(act))?;
    let (request, format) = parse_options(act, command.args_from(2 + first + more), request)?;
    Ok((Operation::new(policy, act, request)?, format))
}

const COST: &str = "COST";
const FACTOR: &str = "FACTOR";
const ID: &str = "ID";

/// The only option without a value.
const VERBOSE: &str = "VERBOSE";

const OPTIONS: [&str; 4] = [COST, FACTOR, ID, VERBOSE];

fn is_option(arg: &[u8]) -> bool {
    OPTIONS.iter().any(|option| option.as_bytes().eq_ignore_ascii_case(arg))
}

/// Adds the options that follow the keys to a request.
fn parse_options<'a>(
    act: Act,
    mut args: impl Iterator<Item = &'a [u8]>,
    mut request: Request<'a>,
) -> Result<(Request<'a>, ReplyFormat), String> {
    let mut seen: SmallVec<[&str; 4]> = SmallVec::new();
    while let Some(arg) = args.next() {
        let option = OPTIONS.into_iter().find(|name| name.as_bytes().eq_ignore_ascii_case(arg));
        let value = if option == Some(VERBOSE) { Some(&b""[..]) } else { args.next() };
        let (option, value) = option.zip(value).ok_or_else(|| usage(act))?;
        let unit_cost = split_unit(value).filter(|_| option == COST);
        // A unit that is given twice is found with the limits.
        if unit_cost.is_none() && seen.contains(&option) {
            return Err(format!("duplicate option {option}"));
        }
        request = match (option, unit_cost) {
            (COST, Some((unit, cost))) => {
                request.cost_of(parse_unit(value, unit)?, parse_cost(value, cost)?)
            }
            (COST, None) => request.cost(parse_cost(value, value)?),
            (FACTOR, _) => request.factor(parse_factor(value)?),
            (VERBOSE, _) => request,
            _ => request.id(parse_id(value)?.as_bytes()),
        };
        if unit_cost.is_none() {
            seen.push(option);
        }
    }
    if act.needs_id() && !seen.contains(&ID) {
        return Err(format!("TG.{} requires an ID", upper(act)));
    }
    let is_verbose = seen.contains(&VERBOSE);
    Ok((request, if is_verbose { ReplyFormat::Verbose } else { ReplyFormat::Tollgate }))
}

/// Splits `unit=n`.
fn split_unit(arg: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = arg.iter().position(|byte| *byte == b'=')?;
    arg.split_at_checked(at).map(|(unit, cost)| (unit, cost.get(1..).unwrap_or_default()))
}

/// Parses the unit in the value of an option.
fn parse_unit<'a>(value: &[u8], unit: &'a [u8]) -> Result<&'a str, String> {
    let text = std::str::from_utf8(unit).ok();
    // A longer one is that of no limit, and not worth repeating in an error.
    text.filter(|text| (1..=MAX_NAME_BYTES).contains(&text.len())).ok_or_else(|| {
        let value = excerpt_lossy(value);
        format!("{COST} '{value}': expected a unit of 1 to {MAX_NAME_BYTES} bytes before '='")
    })
}

/// Parses the number in the value of an option.
fn parse_cost(value: &[u8], number: &[u8]) -> Result<u64, String> {
    let text = std::str::from_utf8(number).ok().filter(|text| !text.starts_with('+'));
    let cost = text.and_then(|text| text.parse().ok()).filter(|cost| *cost <= MAX_COST);
    cost.ok_or_else(|| {
        let value = excerpt_lossy(value);
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
    let act = upper(act);
    format!("usage: TG.{act} policy key [COST n] [COST unit=n ...] [FACTOR f] {id} [VERBOSE]")
}

fn upper(act: Act) -> String {
    act.name().to_ascii_uppercase()
}
