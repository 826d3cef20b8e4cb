//! Overrides: `{ key = "user=42", factor = 0.1 }` scales the limits of one key.

use std::collections::HashSet;

use tollgate_core::{Decimal, Key, Limit, Name};
use toml::de::DeValue;

use super::diagnostics::{Diagnostics, quoted, unquoted};
use super::value::{Table, Value, join_or};
use crate::policy::required_keys::RequiredKeys;

/// A key whose limits are scaled by a factor.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Override {
    /// The name of the subject, or `None` for the nameless key.
    pub subject: Option<Name>,
    /// The key.
    pub key: Box<[u8]>,
    /// How many times stricter the limits that count this key are for it.
    pub factor: Decimal,
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
        let Some(one) =
            item.table(diagnostics).and_then(|table| read_one(diagnostics, table, required))
        else {
            continue;
        };
        one.check(diagnostics, item, limits);
        if !seen.insert((one.subject.clone(), one.key.clone())) {
            diagnostics.error(item.at(), format!("{} has a duplicate key", value.path()));
        }
        all.push(one);
    }
    all
}

fn read_one(
    diagnostics: &mut Diagnostics<'_>,
    mut table: Table<'_>,
    required: Option<&RequiredKeys>,
) -> Option<Override> {
    let key = table.take_required(diagnostics, "key");
    let text = key.as_ref().and_then(|key| key.text(diagnostics, "a key, such as \"user=42\""));
    let factor =
        table.take_required(diagnostics, "factor").and_then(|factor| decimal(diagnostics, &factor));
    let at = key.map_or(table.at(), |key| key.at());
    let path = table.path().to_owned();
    table.finish(diagnostics);
    match required?.parse_override_key(text?) {
        Ok((subject, key)) => {
            Some(Override { subject, key: key.as_bytes().into(), factor: factor? })
        }
        Err(message) => {
            diagnostics.error(at, format!("{path}: {message}"));
            None
        }
    }
}

impl Override {
    /// Adds an error if a limit that counts this key cannot be scaled by the factor.
    fn check(&self, diagnostics: &mut Diagnostics<'_>, item: &Value<'_>, limits: &[Limit]) {
        let own = limits.iter().filter(|limit| limit.per() == self.subject.as_ref());
        if let Some(error) = own.filter_map(|limit| limit.scaled(self.factor).err()).next() {
            diagnostics.error(item.at(), error.to_string());
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
