//! `TG.CHECK policy key [COST n] [FACTOR f] [ID id]`, and the same for every other operation.

use smallvec::SmallVec;
use tollgate_core::{Act, Decimal, Id, MAX_COST};

use super::parse::Command;
use super::subjects;
use crate::engine::operation::{Operation, Options};
use crate::engine::policies::Policies;
use crate::error::told;

/// Reads the command of an act.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn read<'a>(
    act: Act,
    command: &Command<'a>,
    policies: &'a Policies,
) -> Result<Operation<'a>, String> {
    let name = command.word(1).ok_or_else(|| usage(act))?;
    let policy = policies.find(name)?;
    // The first word is the key, whatever it is called, where there must be one.
    let given = usize::from(command.len() > 2 && !policy.required().is_empty());
    let more = command.words_from(2 + given).take_while(|word| !is_option(word)).count();
    let keys: SmallVec<[&[u8]; 2]> = command.words_from(2).take(given + more).collect();
    let keys = subjects::read(policy.required(), &keys)?.ok_or_else(|| usage(act))?;
    let options = options(act, command.words_from(2 + given + more))?;
    if act.needs_id() && options.id.is_none() {
        return Err(format!("TG.{} needs an ID", upper(act)));
    }
    Operation::new(policy, keys, act, options)
}

const COST: &str = "COST";
const FACTOR: &str = "FACTOR";
const ID: &str = "ID";

fn is_option(word: &[u8]) -> bool {
    [COST, FACTOR, ID].iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word))
}

/// What may follow the keys.
fn options<'a>(act: Act, mut words: impl Iterator<Item = &'a [u8]>) -> Result<Options<'a>, String> {
    let mut options = Options::default();
    while let Some(word) = words.next() {
        let name = word.to_ascii_uppercase();
        let value = words.next().filter(|_| is_option(word)).ok_or_else(|| usage(act))?;
        let is_new = match name.as_slice() {
            b"COST" => options.cost.replace(cost(value)?).is_none(),
            b"FACTOR" => options.factor.replace(factor(value)?).is_none(),
            _ => options.id.replace(id(value)?).is_none(),
        };
        if !is_new {
            return Err(format!("{} is given twice", String::from_utf8_lossy(&name)));
        }
    }
    Ok(options)
}

fn cost(word: &[u8]) -> Result<u64, String> {
    let text = std::str::from_utf8(word).ok().filter(|text| !text.starts_with('+'));
    let cost = text.and_then(|text| text.parse().ok()).filter(|cost| *cost <= MAX_COST);
    let wrong = || format!("{COST} '{}': expected a whole number from 0 to {MAX_COST}", told(word));
    cost.ok_or_else(wrong)
}

fn factor(word: &[u8]) -> Result<Decimal, String> {
    let text = String::from_utf8_lossy(word);
    text.parse().map_err(|error| format!("{FACTOR} '{}': {error}", told(word)))
}

fn id(word: &[u8]) -> Result<Id<'_>, String> {
    Id::new(word).map_err(|unfit| unfit.to_string())
}

#[cold]
fn usage(act: Act) -> String {
    let id = if act.needs_id() { "ID id" } else { "[ID id]" };
    format!("expected TG.{} policy key [COST n] [FACTOR f] {id}", upper(act))
}

fn upper(act: Act) -> String {
    act.name().to_ascii_uppercase()
}
