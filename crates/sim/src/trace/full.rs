//! The full parser: any JSON, with error messages for what is not a step.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use tollgate_core::{Act, Id, Key, MAX_COST, MAX_NAME_BYTES, Time, did_you_mean};
use tollgate_http::json::{parse_scaled, parse_whole};

use crate::escape::escape_controls;
use crate::step::{Costs, DEFAULT_KEY, Keys, Step, StepError};

/// Names of the fields of a step.
const FIELDS: [&str; 7] = ["t_ms", "key", "keys", "cost", "costs", "op", "id"];
/// The expected form, for a line that is not JSON.
const EXPECTED: &str = "; expected a JSON object such as {\"t_ms\":0,\"key\":\"a\"}";
/// What a cost may be.
const EXPECTED_COST: &str = "a whole number from 0 to 4294967295";

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
    costs: Option<&'t RawValue>,
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
            "costs" => Some(&mut self.costs),
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
            cost: self.cost()?,
            costs: self.costs()?,
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
        let expected = "an object of keys, such as {\"ip\":\"203.0.113.9\"}";
        let pairs: Vec<(_, Text<'t>)> = pairs("keys", raw, expected)?;
        pairs.into_iter().map(|(name, Text(key))| Ok((name, checked_key("keys", key)?))).collect()
    }

    fn cost(&self) -> Result<u64, StepError> {
        let Some(raw) = present(self.cost) else { return Ok(1) };
        cost(raw).ok_or_else(|| invalid("cost", raw.get(), EXPECTED_COST))
    }

    fn costs(&self) -> Result<Costs<'t>, StepError> {
        let Some(raw) = present(self.costs) else { return Ok(Vec::new()) };
        let expected = "an object of costs, such as {\"tokens\":850}";
        let pairs: Vec<(_, &'t RawValue)> = pairs("costs", raw, expected)?;
        let checked = |(unit, raw): (Cow<'t, str>, _)| match cost(raw) {
            Some(cost) => Ok((unit, cost)),
            None => Err(invalid(&format!("costs.{unit}"), raw.get(), EXPECTED_COST)),
        };
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
    let [field, value] = [field, value].map(|text| escape_controls(&shortened(text)));
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

/// Returns the members of an object, in their order. Each has a name of its own.
fn pairs<'t, V: Deserialize<'t>>(
    field: &str,
    raw: &'t RawValue,
    expected: &str,
) -> Result<Vec<(Cow<'t, str>, V)>, StepError> {
    let Pairs(pairs) = parse_value(field, raw, expected)?;
    let named = |(index, (name, _)): (usize, &(Cow<'_, str>, V))| {
        (1..=MAX_NAME_BYTES).contains(&name.len())
            && pairs.iter().take(index).all(|(earlier, _)| earlier != name)
    };
    match pairs.iter().enumerate().all(named) {
        true => Ok(pairs),
        false => Err(invalid(field, raw.get(), "names of 1 to 64 bytes, each only once")),
    }
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

fn cost(raw: &RawValue) -> Option<u64> {
    parse_whole(raw.get()).filter(|cost| *cost <= MAX_COST)
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

/// The members of an object, in their order.
struct Pairs<'t, V>(Vec<(Cow<'t, str>, V)>);

impl<'t, V: Deserialize<'t>> Deserialize<'t> for Pairs<'t, V> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}

struct PairsVisitor<V>(PhantomData<V>);

impl<'t, V: Deserialize<'t>> Visitor<'t> for PairsVisitor<V> {
    type Value = Pairs<'t, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'t>>(self, mut map: M) -> Result<Pairs<'t, V>, M::Error> {
        let mut pairs = Vec::new();
        while let Some((Text(name), value)) = map.next_entry()? {
            pairs.push((name, value));
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
