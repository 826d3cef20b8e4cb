//! Checks in JSON bodies.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use tollgate_core::{Act, Decimal, MAX_COST, ParseDecimalError};
use tollgate_http::json::parse_whole;

use super::check_request::{Bytes, CheckRequest};
use super::rejection::Rejection;
use crate::error::excerpt_lossy;

/// One check as it is written in JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonCheck<'b> {
    #[serde(borrow)]
    policy: Option<Text<'b>>,
    #[serde(borrow)]
    key: Option<Text<'b>>,
    #[serde(borrow)]
    keys: Option<Named<'b, Text<'b>>>,
    #[serde(borrow)]
    cost: Option<&'b RawValue>,
    #[serde(borrow)]
    costs: Option<Named<'b, &'b RawValue>>,
    #[serde(borrow)]
    factor: Option<&'b RawValue>,
    #[serde(borrow)]
    id: Option<Text<'b>>,
    each: Option<bool>,
}

/// A batch of checks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch<'b> {
    #[serde(borrow)]
    checks: Vec<Object<JsonCheck<'b>>>,
}

/// What a kind of JSON object, or one with members of this kind, looks like, for error messages.
trait Example {
    const EXAMPLE: &'static str;
}

impl Example for JsonCheck<'_> {
    const EXAMPLE: &'static str = "an object such as {\"key\": \"user-42\"}";
}

impl Example for Batch<'_> {
    const EXAMPLE: &'static str = "an object such as {\"checks\": [{\"key\": \"a\"}]}";
}

impl Example for Text<'_> {
    const EXAMPLE: &'static str = "keys by their names, such as {\"ip\": \"203.0.113.9\"}";
}

impl Example for &RawValue {
    const EXAMPLE: &'static str = "costs by their units, such as {\"tokens\": 850}";
}

/// A JSON object. Serde would also take a list of the members in order.
struct Object<T>(T);

impl<'de, T: Deserialize<'de> + Example> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        deserializer.deserialize_map(Members(PhantomData))
    }
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Example> Visitor<'de> for Members<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXAMPLE)
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Object<T>, M::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

/// A string that is copied only if it has escapes.
#[derive(Deserialize)]
struct Text<'b>(#[serde(borrow)] Cow<'b, str>);

/// Values by their names, in their order.
struct Named<'b, T>(Vec<(Text<'b>, T)>);

impl<'b> Text<'b> {
    fn into_bytes(self) -> Bytes<'b> {
        match self.0 {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }
    }
}

impl<'de: 'b, 'b, T: Deserialize<'de> + Example> Deserialize<'de> for Named<'b, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Named<'b, T>, D::Error> {
        deserializer.deserialize_map(Pairs(PhantomData))
    }
}

struct Pairs<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Example> Visitor<'de> for Pairs<T> {
    type Value = Named<'de, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXAMPLE)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Named<'de, T>, M::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Named(pairs))
    }
}

/// Parses a body with one check.
///
/// # Errors
/// Fails if it is not such an object, or a member is invalid.
pub(super) fn one(act: Act, json: &[u8]) -> Result<CheckRequest<'_>, Rejection> {
    let Object(body) = parse(json)?;
    check(act, body)
}

/// Parses a body with a batch of checks.
///
/// # Errors
/// Fails if there are none or more than `max`, or one of them is invalid.
pub(super) fn many(act: Act, json: &[u8], max: usize) -> Result<Vec<CheckRequest<'_>>, Rejection> {
    let Object(Batch { checks }) = parse(json)?;
    if !(1..=max).contains(&checks.len()) {
        let count = checks.len();
        return Err(Rejection::invalid(format!("{count} checks: expected 1 to {max}")));
    }
    let each = |(index, Object(body))| {
        check(act, body).map_err(|rejection: Rejection| rejection.of_check(index))
    };
    checks.into_iter().enumerate().map(each).collect()
}

fn parse<'b, T: Deserialize<'b>>(json: &'b [u8]) -> Result<T, Rejection> {
    serde_json::from_slice(json).map_err(|error| Rejection::bad_request(error.to_string()))
}

fn check(act: Act, body: JsonCheck<'_>) -> Result<CheckRequest<'_>, Rejection> {
    let JsonCheck { policy, key, keys, cost, costs, factor, id, each } = body;
    let keys = keys.map_or_else(Vec::new, |Named(keys)| keys);
    let costs = costs.map_or_else(Vec::new, |Named(costs)| costs);
    Ok(CheckRequest {
        policy: policy.map(Text::into_bytes),
        key: key.map(Text::into_bytes),
        keys: keys.into_iter().map(|(name, key)| (name.into_bytes(), key.into_bytes())).collect(),
        cost: cost.map(|raw| whole_cost("cost", raw)).transpose()?,
        costs: costs.into_iter().map(unit_cost).collect::<Result<_, _>>()?,
        factor: factor.map(decimal).transpose()?,
        id: id.map(Text::into_bytes),
        each: each.unwrap_or(false),
        ..CheckRequest::new(act)
    })
}

fn unit_cost<'b>((unit, raw): (Text<'b>, &RawValue)) -> Result<(Bytes<'b>, u64), Rejection> {
    let unit = unit.into_bytes();
    let cost = whole_cost(&format!("cost of '{}'", excerpt_lossy(&unit)), raw)?;
    Ok((unit, cost))
}

fn whole_cost(name: &str, raw: &RawValue) -> Result<u64, Rejection> {
    let fits = parse_whole(raw.get()).filter(|cost| *cost <= MAX_COST);
    fits.ok_or_else(|| wrong(name, raw, &format!("expected a whole number from 0 to {MAX_COST}")))
}

fn decimal(raw: &RawValue) -> Result<Decimal, Rejection> {
    raw.get().parse().map_err(|error: ParseDecimalError| wrong("factor", raw, &error.to_string()))
}

/// A number out of bounds is a valid body with an invalid value; anything else is an invalid body.
fn wrong(name: &str, raw: &RawValue, expected: &str) -> Rejection {
    let text = format!("{name} {}: {expected}", excerpt_lossy(raw.get().as_bytes()));
    match raw.get().parse::<f64>() {
        Ok(_) => Rejection::invalid(text),
        Err(_) => Rejection::bad_request(text),
    }
}
