//! Who is held to more or less than others: `{ key = "user=42", factor = 0.1 }`.

use std::collections::HashSet;

use tollgate_core::{Decimal, Key, Limit, Name};
use toml::de::DeValue;

use super::diagnostics::{Diagnostics, repeated, repeated_bare};
use super::read::{Table, Value, listed};
use crate::engine::required_keys::RequiredKeys;

/// One who is held to more or less.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Override {
    /// What kind of subject it is; `None` for the nameless one.
    pub subject: Option<Name>,
    /// Which one.
    pub key: Box<[u8]>,
    /// How many times as tight the limits are that count it.
    pub factor: Decimal,
}

impl RequiredKeys {
    /// The subject and the key of some text.
    fn whose<'k>(&self, text: &'k str) -> Result<(Option<Name>, Key<'k>), String> {
        let part = text.split_once('=');
        let named = part.and_then(|(kind, key)| {
            let known = self.named.iter().find(|known| known.as_str() == kind)?;
            Some((Some(known.clone()), key))
        });
        let (subject, key) = match named {
            Some(named) => named,
            None if self.nameless => (None, text),
            None => return Err(self.nobody(text)),
        };
        let key = Key::new(key.as_bytes()).map_err(|unfit| unfit.to_string())?;
        Ok((subject, key))
    }

    fn nobody(&self, text: &str) -> String {
        let text = repeated(text);
        if self.named.is_empty() {
            return format!("key is {text}, but the policy counts nobody by a key");
        }
        let required: Vec<String> = self.named.iter().map(|kind| format!("{kind}=…")).collect();
        let expected = listed(required.iter().map(String::as_str));
        format!("key is {text}, which the policy does not count; expected {expected}")
    }
}

/// All overrides of a policy. Where its own limits are not known, only their shape can be read.
pub(super) fn read(
    found: &mut Diagnostics<'_>,
    value: &Value<'_>,
    limits: &[Limit],
    required: Option<&RequiredKeys>,
) -> Vec<Override> {
    let expected = "a list such as [{ key = \"user=42\", factor = 0.1 }]";
    let items = value.list(found, expected).unwrap_or_default();
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for item in &items {
        let Some(one) = item.table(found).and_then(|table| read_one(found, table, required)) else {
            continue;
        };
        one.check(found, item, limits);
        if !seen.insert((one.subject.clone(), one.key.clone())) {
            found.mistake(item.at(), format!("{} has this key twice", value.path()));
        }
        all.push(one);
    }
    all
}

fn read_one(
    found: &mut Diagnostics<'_>,
    mut table: Table<'_>,
    required: Option<&RequiredKeys>,
) -> Option<Override> {
    let key = table.need(found, "key");
    let text =
        key.as_ref().and_then(|key| key.text(found, "whom it is about, such as \"user=42\""));
    let factor = table.need(found, "factor").and_then(|factor| decimal(found, &factor));
    let at = key.map_or(table.at(), |key| key.at());
    let path = table.path().to_owned();
    table.finish(found);
    match required?.whose(text?) {
        Ok((subject, key)) => {
            Some(Override { subject, key: key.as_bytes().into(), factor: factor? })
        }
        Err(what) => {
            found.mistake(at, format!("{path}: {what}"));
            None
        }
    }
}

impl Override {
    /// Every limit that counts this one must be possible with the factor.
    fn check(&self, found: &mut Diagnostics<'_>, item: &Value<'_>, limits: &[Limit]) {
        let own = limits.iter().filter(|limit| limit.per() == self.subject.as_ref());
        if let Some(error) = own.filter_map(|limit| limit.scaled(self.factor).err()).next() {
            found.mistake(item.at(), error.to_string());
        }
    }
}

/// A decimal as it is written: what passes through a float may be another number.
fn decimal(found: &mut Diagnostics<'_>, value: &Value<'_>) -> Option<Decimal> {
    let expected = "a non-negative decimal with at most 9 decimal places, such as 0.5";
    let parsed = match value.raw() {
        DeValue::String(text) => return value.parsed(found, expected, |_| text.parse().ok()),
        DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str().parse().ok(),
        DeValue::Float(digits) => digits.as_str().parse().ok(),
        DeValue::Integer(_) => None,
        _ => return value.parsed(found, expected, |_| None),
    };
    if parsed.is_none() {
        let text = repeated_bare(found.written(value.span()));
        value.wrong(found, &text, expected);
    }
    parsed
}
