//! The full parser: any JSON, with error messages for what is not a step.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use tollgate_core::{Act, Id, Key, MAX_COST, Time, did_you_mean};
use tollgate_http::json::{parse_scaled, parse_whole};

use crate::escape::escape_controls;
use crate::step::{DEFAULT_KEY, Keys, Step, StepError};

/// Names of the fields of a step.
const FIELDS: [&str; 6] = ["t_ms", "key", "keys", "cost", "op", "id"];
/// The expected form, for a line that is not JSON.
const EXPECTED: &str = "; expected a JSON object such as {\"t_ms\":0,\"key\":\"a\"}";

/// Parses any line.
pub(super) fn parse(line: &str) -> Result<Step<'_>, StepError> {
    let fields: Fields<'_> = serde_json::from_str(line).map_err(|error| {
        // `serde_json` always reports line 1, which is not the line of the trace.
        let text = error.to_string().replace("at line 1 column", "at column");
        // An error about valid JSON already contains what is expected.
        let expected = if error.is_data() { "" } else { EXPECTED };
        StepError(format!("invalid step: {text}{expected}"))
    })?;
    fields.step()
}

/// The raw JSON of each field.
#[derive(Default)]
struct Fields<'t> {
    t_ms: Option<&'t RawValue>,
    key: Option<&'t RawValue>,
    keys: Option<&'t RawValue>,
    cost: Option<&'t RawValue>,
    op: Option<&'t RawValue>,
    id: Option<&'t RawValue>,
}

impl<'t> Fields<'t> {
    fn get_mut(&mut self, name: &str) -> Option<&mut Option<&'t RawValue>> {
        match name {
            "t_ms" => Some(&mut self.t_ms),
            "key" => Some(&mut self.key),
            "keys" => Some(&mut self.keys),
            "cost" => Some(&mut self.cost),
            "op" => Some(&mut self.op),
            "id" => Some(&mut self.id),
            _ => None,
        }
    }

    fn step(&self) -> Result<Step<'t>, StepError> {
        let act = op(self.op)?;
        let id = self.id()?;
        if act.needs_id() && id.is_none() {
            return Err(StepError(format!("id is missing: {act} needs one")));
        }
        Ok(Step {
            at: time(self.t_ms)?,
            act,
            cost: cost(self.cost)?,
            key: self.key()?,
            keys: self.keys()?,
            id,
        })
    }

    fn key(&self) -> Result<Cow<'t, str>, StepError> {
        let Some(raw) = present(self.key) else { return Ok(Cow::Borrowed(DEFAULT_KEY)) };
        checked_key("key", text("key", raw)?)
    }

    fn keys(&self) -> Result<Keys<'t>, StepError> {
        let Some(raw) = present(self.keys) else { return Ok(Vec::new()) };
        let Pairs(pairs) =
            parse_value("keys", raw, "an object of keys, such as {\"ip\":\"203.0.113.9\"}")?;
        let checked =
            |(name, Text(key)): (Text<'t>, Text<'t>)| Ok((name.0, checked_key("keys", key)?));
        pairs.into_iter().map(checked).collect()
    }

    fn id(&self) -> Result<Option<Cow<'t, str>>, StepError> {
        let Some(raw) = present(self.id) else { return Ok(None) };
        let id = text("id", raw)?;
        match Id::new(id.as_bytes()) {
            Ok(_) => Ok(Some(id)),
            Err(invalid) => Err(StepError(invalid.to_string())),
        }
    }
}

/// Treats `null` as an absent field.
fn present(value: Option<&RawValue>) -> Option<&RawValue> {
    value.filter(|raw| raw.get() != "null")
}

fn invalid(field: &str, value: &str, expected: &str) -> StepError {
    let value = escape_controls(&shortened(value));
    StepError(format!("{field} {value} is not accepted; expected {expected}"))
}

/// Shortens a long value for an error message.
fn shortened(value: &str) -> Cow<'_, str> {
    const MAX_CHARS: usize = 80;
    match value.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()).into(),
        None => value.into(),
    }
}

fn parse_value<'t, T: Deserialize<'t>>(
    field: &str,
    raw: &'t RawValue,
    expected: &str,
) -> Result<T, StepError> {
    serde_json::from_str(raw.get()).map_err(|_| invalid(field, raw.get(), expected))
}

fn text<'t>(field: &str, raw: &'t RawValue) -> Result<Cow<'t, str>, StepError> {
    parse_value(field, raw, "a string").map(|Text(text)| text)
}

fn checked_key<'t>(field: &str, key: Cow<'t, str>) -> Result<Cow<'t, str>, StepError> {
    match Key::new(key.as_bytes()) {
        Ok(_) => Ok(key),
        Err(invalid) => Err(StepError(format!("{field}: {invalid}"))),
    }
}

fn time(raw: Option<&RawValue>) -> Result<Time, StepError> {
    const EXPECTED: &str = "milliseconds since the epoch from 0 to 4503599627370.495 with at most \
                            three decimals";
    let Some(raw) = present(raw) else {
        return Err(StepError(format!("t_ms is missing; expected {EXPECTED}")));
    };
    let time = parse_scaled(raw.get(), 3).and_then(Time::from_micros);
    time.ok_or_else(|| invalid("t_ms", raw.get(), EXPECTED))
}

fn cost(raw: Option<&RawValue>) -> Result<u64, StepError> {
    let Some(raw) = present(raw) else { return Ok(1) };
    let cost = parse_whole(raw.get()).filter(|cost| *cost <= MAX_COST);
    cost.ok_or_else(|| invalid("cost", raw.get(), "a whole number from 0 to 4294967295"))
}

fn op(raw: Option<&RawValue>) -> Result<Act, StepError> {
    let Some(raw) = present(raw) else { return Ok(Act::Check) };
    let name = text("op", raw)?;
    let names = Act::ALL.map(Act::name);
    Act::from_name(&name).ok_or_else(|| {
        let error = invalid("op", raw.get(), &names.join(", "));
        StepError(format!("{error}{}", did_you_mean(&name, names)))
    })
}

/// A string that is borrowed if it has no escapes.
#[derive(serde::Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

/// The members of an object of strings, in their order.
struct Pairs<'t>(Vec<(Text<'t>, Text<'t>)>);

impl<'t> Deserialize<'t> for Pairs<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'t> Visitor<'t> for PairsVisitor {
    type Value = Pairs<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'t>>(self, mut map: M) -> Result<Pairs<'t>, M::Error> {
        let mut pairs: Vec<(Text<'t>, Text<'t>)> = Vec::new();
        while let Some(pair) = map.next_entry::<Text<'t>, Text<'t>>()? {
            if pairs.iter().any(|(name, _)| name.0 == pair.0.0) {
                return Err(M::Error::custom("duplicate key"));
            }
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

impl<'t> Deserialize<'t> for Fields<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'t> Visitor<'t> for FieldsVisitor {
    type Value = Fields<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object such as {\"t_ms\":0,\"key\":\"a\"}")
    }

    fn visit_map<M: MapAccess<'t>>(self, mut map: M) -> Result<Fields<'t>, M::Error> {
        let mut fields = Fields::default();
        while let Some((Text(name), value)) = map.next_entry::<Text<'t>, &'t RawValue>()? {
            let Some(field) = fields.get_mut(&name) else {
                let name = shortened(&name);
                let hint = did_you_mean(&name, FIELDS);
                let expected = FIELDS.join(", ");
                return Err(M::Error::custom(format!(
                    "unknown field {name:?}; expected one of {expected}{hint}"
                )));
            };
            if field.replace(value).is_some() {
                return Err(M::Error::custom(format!("duplicate field {name:?}")));
            }
        }
        Ok(fields)
    }
}
