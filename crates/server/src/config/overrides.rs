//! Overrides: `{ key = "user=42", factor = 0.1 }` scales the limits of one key, and
//! `{ key = "user=42", limits = ["gcra 1000/s"] }` gives it its own.

use std::collections::HashSet;

use tollgate_core::{Decimal, Key, Limit, LimitError, Name};
use toml::de::DeValue;

use super::diagnostics::{Diagnostics, quoted, unquoted};
use super::limit_list;
use super::value::{Table, Value, join_or};
use crate::policy::required_keys::RequiredKeys;

/// A key with limits of its own.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Override {
    /// The name of the subject, or `None` for the nameless key.
    pub subject: Option<Name>,
    /// The key.
    pub key: Box<[u8]>,
    /// What the limits that count this key are for it.
    pub limits: OverrideLimits,
}

/// The limits of a key with an override.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OverrideLimits {
    /// Those of the policy, this many times as tight.
    Factor(Decimal),
    /// One limit for each limit of the policy that counts the key, in order: of the same rule, or unlimited.
    /// They have the `per` and `of` of the limit they replace.
    Own(Vec<Limit>),
}

/// Why an override does not fit the limits of its policy.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// Index of the own limit that does not fit, if it is one.
    line: Option<usize>,
    pub(crate) message: String,
}

impl Override {
    /// Returns the limits that replace those of a policy for this key, with their positions.
    ///
    /// # Errors
    /// Fails if a limit cannot be scaled by the factor, or if the key's own limits do not fit those of the
    /// policy.
    pub(crate) fn replace(&self, limits: &[Limit]) -> Result<Vec<(usize, Limit)>, Misfit> {
        let counting = self.counting(limits);
        match &self.limits {
            OverrideLimits::Factor(factor) => counting
                .map(|(position, limit)| Ok((position, limit.scaled(*factor)?)))
                .collect::<Result<_, LimitError>>()
                .map_err(|error| Misfit { line: None, message: error.to_string() }),
            OverrideLimits::Own(own) => replace_each(&counting.collect::<Vec<_>>(), own),
        }
    }

    /// Returns the limits that replace those of a candidate for this key, with their positions. Only a factor
    /// says what they would be. A limit that cannot be scaled stays as it is.
    pub(crate) fn replace_candidate(&self, limits: &[Limit]) -> Vec<(usize, Limit)> {
        let OverrideLimits::Factor(factor) = self.limits else { return Vec::new() };
        let scaled = |(position, limit): (_, &Limit)| Some((position, limit.scaled(factor).ok()?));
        self.counting(limits).filter_map(scaled).collect()
    }

    /// Returns the limits that count this key, with their positions.
    fn counting<'l>(&self, limits: &'l [Limit]) -> impl Iterator<Item = (usize, &'l Limit)> {
        limits.iter().enumerate().filter(|(_, limit)| limit.per() == self.subject.as_ref())
    }
}

fn replace_each(
    counting: &[(usize, &Limit)],
    own: &[Limit],
) -> Result<Vec<(usize, Limit)>, Misfit> {
    if counting.len() != own.len() {
        let (given, expected) = (own.len(), counting.len());
        let plural = if given == 1 { "" } else { "s" };
        let lines: Vec<_> = counting.iter().map(|(_, limit)| format!("\"{limit}\"")).collect();
        let message = format!(
            "has {given} limit{plural}; expected {expected}, one for each limit that counts the key: {}",
            lines.join(", ")
        );
        return Err(Misfit { line: None, message });
    }
    let replace = |(index, ((position, limit), own)): (usize, (&(usize, &Limit), &Limit))| {
        let misfit = |expected| Misfit {
            line: Some(index),
            message: format!("is \"{own}\"; expected {expected}"),
        };
        Ok((*position, in_place_of(limit, own).map_err(misfit)?))
    };
    counting.iter().zip(own).enumerate().map(replace).collect()
}

/// Returns a key's own limit, with the `per` and `of` of the limit it replaces.
///
/// # Errors
/// Fails with what is expected if its `per` or `of` is another, or its rule is. What a state of one rule counts
/// means nothing to another, so that each change of the override would forget the key.
fn in_place_of(limit: &Limit, own: &Limit) -> Result<Limit, String> {
    let words = [("per", limit.per(), own.per()), ("of", limit.unit(), own.unit())];
    if let Some((word, name, _)) =
        words.into_iter().find(|(_, name, own)| own.is_some() && own != name)
    {
        return Err(match name {
            Some(name) => format!("{word} {name}, as in \"{limit}\", or no {word}"),
            None => format!("no {word}, as in \"{limit}\""),
        });
    }
    let mut replaced = own.clone();
    // The names are valid: they are those of the limit.
    if let Some(name) = limit.per() {
        replaced = replaced.with_per(name.as_str()).map_err(|error| error.to_string())?;
    }
    if let Some(unit) = limit.unit() {
        replaced = replaced.with_unit(unit.as_str()).map_err(|error| error.to_string())?;
    }
    if replaced.keeps_state_of(limit) || replaced.capacity().is_none() {
        return Ok(replaced);
    }
    Err(format!("a limit that counts as \"{limit}\" does, or unlimited"))
}

impl RequiredKeys {
    /// Parses `NAME=KEY`, or the nameless key.
    fn parse_override_key<'k>(&self, text: &'k str) -> Result<(Option<Name>, Key<'k>), String> {
        let named = text.split_once('=').and_then(|(subject, key)| {
            let known = self.named.iter().find(|known| known.as_str() == subject)?;
            Some((Some(known.clone()), key))
        });
        let (subject, key) = match named {
            Some(named) => named,
            None if self.nameless => (None, text),
            None => return Err(self.not_counted(text)),
        };
        let key = Key::new(key.as_bytes()).map_err(|error| error.to_string())?;
        Ok((subject, key))
    }

    fn not_counted(&self, text: &str) -> String {
        let text = quoted(text);
        if self.named.is_empty() {
            return format!("key is {text}, but the policy has no limit per key");
        }
        let required: Vec<String> =
            self.named.iter().map(|subject| format!("{subject}=…")).collect();
        let expected = join_or(required.iter().map(String::as_str));
        format!("key is {text}; expected {expected}")
    }
}

/// Reads the overrides of a policy. If the limits of the policy are invalid, `required` is `None` and
/// only the form of the overrides is checked.
pub(super) fn read(
    diagnostics: &mut Diagnostics<'_>,
    value: &Value<'_>,
    limits: &[Limit],
    required: Option<&RequiredKeys>,
) -> Vec<Override> {
    let expected = "a list such as [{ key = \"user=42\", factor = 0.1 }]";
    let items = value.list(diagnostics, expected).unwrap_or_default();
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for item in &items {
        let Some((one, own)) =
            item.table(diagnostics).and_then(|table| read_one(diagnostics, table, required))
        else {
            continue;
        };
        match (one.replace(limits), own) {
            (Ok(_), _) => {}
            (Err(misfit), None) => diagnostics.error(item.at(), misfit.message),
            (Err(misfit), Some(own)) => misfit.report(diagnostics, &own),
        }
        if !seen.insert((one.subject.clone(), one.key.clone())) {
            diagnostics.error(item.at(), format!("{} has a duplicate key", value.path()));
        }
        all.push(one);
    }
    all
}

impl Misfit {
    /// Reports it at the own limit, or at the list of own limits.
    fn report(self, diagnostics: &mut Diagnostics<'_>, own: &Value<'_>) {
        let lines = own.list(diagnostics, limit_list::EXPECTED).unwrap_or_default();
        let line = self.line.and_then(|index| lines.get(index));
        line.unwrap_or(own).error(diagnostics, || self.message);
    }
}

/// Reads one override. Returns its own limits, too, as they are in the file.
fn read_one<'a>(
    diagnostics: &mut Diagnostics<'_>,
    mut table: Table<'a>,
    required: Option<&RequiredKeys>,
) -> Option<(Override, Option<Value<'a>>)> {
    let key = table.take_required(diagnostics, "key");
    let text = key.as_ref().and_then(|key| key.text(diagnostics, "a key, such as \"user=42\""));
    let at = key.map_or(table.at(), |key| key.at());
    let (factor, own) = (table.take("factor"), table.take("limits"));
    let limits = read_limits(diagnostics, &table, factor.as_ref(), own.as_ref());
    let path = table.path().to_owned();
    table.finish(diagnostics);
    match required?.parse_override_key(text?) {
        Ok((subject, key)) => {
            Some((Override { subject, key: key.as_bytes().into(), limits: limits? }, own))
        }
        Err(message) => {
            diagnostics.error(at, format!("{path}: {message}"));
            None
        }
    }
}

fn read_limits(
    diagnostics: &mut Diagnostics<'_>,
    table: &Table<'_>,
    factor: Option<&Value<'_>>,
    own: Option<&Value<'_>>,
) -> Option<OverrideLimits> {
    match (factor, own) {
        (Some(factor), None) => decimal(diagnostics, factor).map(OverrideLimits::Factor),
        (None, Some(own)) => limit_list::read(diagnostics, own, false).map(OverrideLimits::Own),
        (Some(_), Some(own)) => {
            let path = table.path();
            own.error(diagnostics, || {
                format!("is given besides {path}.factor; expected one of them")
            });
            None
        }
        (None, None) => {
            let path = table.path();
            diagnostics.missing(table.at(), format!("missing key {path}.factor or {path}.limits"));
            None
        }
    }
}

/// Reads a decimal from its text, as converting it to a float could change the number.
fn decimal(diagnostics: &mut Diagnostics<'_>, value: &Value<'_>) -> Option<Decimal> {
    let expected = "a non-negative decimal with at most 9 decimal places, such as 0.5";
    let parsed = match value.raw() {
        DeValue::String(text) => return value.parsed(diagnostics, expected, |_| text.parse().ok()),
        DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str().parse().ok(),
        DeValue::Float(digits) => digits.as_str().parse().ok(),
        DeValue::Integer(_) => None,
        _ => return value.parsed(diagnostics, expected, |_| None),
    };
    if parsed.is_none() {
        let text = unquoted(diagnostics.source(value.span()));
        value.unexpected(diagnostics, &text, expected);
    }
    parsed
}
