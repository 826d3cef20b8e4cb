//! One step of a trace: `{"t_ms": 1500.25, "key": "a", "cost": 1, "op": "check"}`.

mod plain;

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use tollgate_core::{Act, Id, Key, MAX_COST, Time, did_you_mean};

use crate::millis::exact;
use crate::row::shown;

/// The fields of a step.
const FIELDS: [&str; 6] = ["t_ms", "key", "keys", "cost", "op", "id"];
/// What is accepted, for a line that is no JSON at all.
const SHAPE: &str = "; expected a JSON object such as {\"t_ms\":0,\"key\":\"a\"}";
/// The key of a step that names none.
const NAMELESS: &str = "-";

/// Keys by the kind of their subject.
type Keys<'t> = Vec<(Cow<'t, str>, Cow<'t, str>)>;

/// One operation at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<'t> {
    pub(crate) at: Time,
    pub(crate) act: Act,
    pub(crate) cost: u64,
    pub(crate) key: Cow<'t, str>,
    /// For limits with `per`.
    pub(crate) keys: Keys<'t>,
    pub(crate) id: Option<Cow<'t, str>>,
}

/// What is wrong with a step: which field, what stood there, and what is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepError(String);

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StepError {}

impl<'t> Step<'t> {
    /// Reads one line of a trace.
    ///
    /// # Errors
    /// If it is not a JSON object, a field is unknown or its value is not accepted.
    pub fn parse(line: &'t str) -> Result<Step<'t>, StepError> {
        plain::step(line).map_or_else(|| Step::parse_any(line), Ok)
    }

    /// Reads any line, and says what is wrong with it.
    fn parse_any(line: &'t str) -> Result<Step<'t>, StepError> {
        let fields: Fields<'t> = serde_json::from_str(line).map_err(|error| {
            // It always says "line 1", which is not the line of the trace.
            let text = error.to_string().replace("at line 1 column", "at column");
            // What is JSON, but no step, has said what is accepted already.
            let shape = if error.is_data() { "" } else { SHAPE };
            StepError(format!("not a step: {text}{shape}"))
        })?;
        fields.step()
    }

    /// The key that a limit counts, by the kind of its subject.
    pub(crate) fn key_of(&self, kind: Option<&str>) -> Option<&str> {
        match kind {
            None => Some(&self.key),
            Some(kind) => self.keys.iter().find(|(name, _)| name == kind).map(|(_, key)| &**key),
        }
    }
}

/// The values of the fields as they stand in the text.
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
    fn named(&mut self, name: &str) -> Option<&mut Option<&'t RawValue>> {
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
        let Some(raw) = said(self.key) else { return Ok(Cow::Borrowed(NAMELESS)) };
        checked_key("key", text("key", raw)?)
    }

    fn keys(&self) -> Result<Keys<'t>, StepError> {
        let Some(raw) = said(self.keys) else { return Ok(Vec::new()) };
        let Pairs(pairs) =
            parse("keys", raw, "an object of keys, such as {\"ip\":\"203.0.113.9\"}")?;
        let checked =
            |(kind, Text(key)): (Text<'t>, Text<'t>)| Ok((kind.0, checked_key("keys", key)?));
        pairs.into_iter().map(checked).collect()
    }

    fn id(&self) -> Result<Option<Cow<'t, str>>, StepError> {
        let Some(raw) = said(self.id) else { return Ok(None) };
        let id = text("id", raw)?;
        match Id::new(id.as_bytes()) {
            Ok(_) => Ok(Some(id)),
            Err(unfit) => Err(StepError(unfit.to_string())),
        }
    }
}

/// `null` is as good as not said.
fn said(value: Option<&RawValue>) -> Option<&RawValue> {
    value.filter(|raw| raw.get() != "null")
}

fn bad(field: &str, value: &str, accepted: &str) -> StepError {
    let value = shown(&shortened(value));
    StepError(format!("{field} {value} is not accepted; expected {accepted}"))
}

/// Enough of a value to find it by.
fn shortened(value: &str) -> Cow<'_, str> {
    const MOST: usize = 80;
    match value.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()).into(),
        None => value.into(),
    }
}

fn parse<'t, T: Deserialize<'t>>(
    field: &str,
    raw: &'t RawValue,
    accepted: &str,
) -> Result<T, StepError> {
    serde_json::from_str(raw.get()).map_err(|_| bad(field, raw.get(), accepted))
}

fn text<'t>(field: &str, raw: &'t RawValue) -> Result<Cow<'t, str>, StepError> {
    parse(field, raw, "a text").map(|Text(text)| text)
}

fn checked_key<'t>(field: &str, key: Cow<'t, str>) -> Result<Cow<'t, str>, StepError> {
    match Key::new(key.as_bytes()) {
        Ok(_) => Ok(key),
        Err(unfit) => Err(StepError(format!("{field}: {unfit}"))),
    }
}

fn time(raw: Option<&RawValue>) -> Result<Time, StepError> {
    const ACCEPTED: &str = "milliseconds since the epoch from 0 to 4503599627370.495 with at most \
                            three decimals";
    let Some(raw) = said(raw) else {
        return Err(StepError(format!("t_ms is missing; expected {ACCEPTED}")));
    };
    exact(raw.get(), 3).and_then(Time::from_micros).ok_or_else(|| bad("t_ms", raw.get(), ACCEPTED))
}

fn cost(raw: Option<&RawValue>) -> Result<u64, StepError> {
    let Some(raw) = said(raw) else { return Ok(1) };
    let cost = exact(raw.get(), 0).filter(|cost| *cost <= MAX_COST);
    cost.ok_or_else(|| bad("cost", raw.get(), "a whole number from 0 to 4294967295"))
}

fn op(raw: Option<&RawValue>) -> Result<Act, StepError> {
    let Some(raw) = said(raw) else { return Ok(Act::Check) };
    let name = text("op", raw)?;
    let names = Act::ALL.map(Act::name);
    Act::from_name(&name).ok_or_else(|| {
        let error = bad("op", raw.get(), &names.join(", "));
        StepError(format!("{error}{}", did_you_mean(&name, names)))
    })
}

/// A text that is borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

/// The members of an object, in their order.
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
            if pairs.iter().any(|(kind, _)| kind.0 == pair.0.0) {
                return Err(M::Error::custom("said twice"));
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
            let Some(field) = fields.named(&name) else {
                let name = shortened(&name);
                let meant = did_you_mean(&name, FIELDS);
                let accepted = FIELDS.join(", ");
                return Err(M::Error::custom(format!(
                    "field {name:?} is not known; expected {accepted}{meant}"
                )));
            };
            if field.replace(value).is_some() {
                return Err(M::Error::custom(format!("field {name:?} is said twice")));
            }
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lines that are right, nearly right and wrong, in pieces that meet in every way.
    fn lines() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "{",
            "}",
            ",",
            ":",
            " ",
            "\t",
            "\"",
            "\"t_ms\":",
            "\"key\":",
            "\"cost\":",
            "\"op\":",
            "\"id\":",
            "\"keys\":",
            "\"x\":",
            "0",
            "1",
            "7.5",
            "1500.250",
            "00",
            "1.",
            ".5",
            "-1",
            "1e3",
            "4294967296",
            "\"a\"",
            "\"\"",
            "\"check\"",
            "\"reserve\"",
            "\"é\"",
            "\"a\\n\"",
            "null",
            "[]",
            "\u{7f}",
            "\u{1}",
        ]);
        let field = prop::sample::select(vec![
            "\"t_ms\":1500.25",
            "\"t_ms\": 0",
            "\"key\":\"k\"",
            "\"cost\":3",
            "\"op\":\"peek\"",
            "\"op\":\"reserve\"",
            "\"id\":\"i\"",
            "\"t_ms\":01",
            "\"cost\":1.0",
            "\"key\":null",
        ]);
        let whole = prop::collection::vec(field, 0..5)
            .prop_map(|fields| format!("{{{}}}", fields.join(",")));
        let scraps = prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat());
        prop_oneof![3 => whole, 2 => scraps]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn the_plain_reader_reads_nothing_otherwise(line in lines()) {
            if let Some(step) = plain::step(&line) {
                prop_assert_eq!(Ok(step), Step::parse_any(&line));
            }
        }
    }

    #[test]
    fn the_plain_reader_reads_what_is_plain() {
        for line in [
            r#"{"t_ms":0}"#,
            r#" { "t_ms" : 1500.25 , "key" : "a b" , "cost" : 0 , "op" : "check" } "#,
            r#"{"op":"settle","id":"x","t_ms":1700000000000,"key":"é"}"#,
        ] {
            assert!(plain::step(line).is_some(), "{line}");
        }
    }
}
