//! From an operation to the call of a script.

use std::sync::Arc;

use tollgate_core::{Act, Item, Numbers, Op, Span, StoreError, Time};

use crate::bytes::put;
use crate::keys::Prefix;
use crate::reply::Asked;
use crate::script::{Script, Scripts};
use crate::shape::{MOST_LIMITS, Shape};

/// One call, ready to be sent.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) script: Arc<Script>,
    /// All keys it touches, in the order in which the script knows them.
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) argument: Vec<u8>,
    pub(crate) asked: Asked,
}

/// When an operation happens.
#[derive(Debug, Clone)]
pub(crate) struct When {
    /// The time that was passed in.
    pub(crate) at: Option<Time>,
    /// Where the calendar windows that are sent along lie, for each limit: around our own time at
    /// first, and then around where the script asked for.
    pub(crate) windows: Vec<Time>,
}

impl Call {
    /// Makes the call.
    ///
    /// # Errors
    /// If the operation makes no sense, or has too many limits.
    pub(crate) fn new(
        op: &Op<'_>,
        when: &When,
        prefix: &Prefix,
        scripts: &Scripts,
    ) -> Result<Call, StoreError> {
        if let Some(mistake) = op.mistake() {
            return Err(mistake);
        }
        if op.items.len() > MOST_LIMITS {
            return Err(StoreError::malformed("more than 16 limits in one operation"));
        }
        let numbers: Vec<Numbers> = op.items.iter().map(|item| item.limit.numbers()).collect();
        let (shape, firsts) = Shape::of(op, &numbers, when.at.is_some());
        let asked = Asked {
            asks: op.act.asks(),
            cost: op.cost,
            measures: op.items.iter().map(|item| item.limit.measure()).collect(),
        };
        let keys = keys(op, &shape, &firsts, prefix);
        let argument = argument(op, &numbers, when, shape.with_id.then_some(&asked));
        Ok(Call { script: scripts.of(shape), keys, argument, asked })
    }
}

fn keys(op: &Op<'_>, shape: &Shape, firsts: &[usize], prefix: &Prefix) -> Vec<Vec<u8>> {
    let items = firsts.iter().filter_map(|first| op.items.get(*first));
    let mut keys: Vec<Vec<u8>> =
        items.map(|item| prefix.state(op.policy, item.subject)).collect();
    if op.act.uses_id() && (shape.with_id || op.act == Act::Reset) {
        let scope = prefix.scope(op, &keys);
        if let Some(id) = op.id.filter(|_| shape.with_id) {
            keys.push(scope.id(id));
        }
        if op.act != Act::Release {
            keys.push(scope.generation());
        }
    }
    keys
}

/// One string: the cost and the time, the numbers of each limit, and what is needed for an id.
fn argument(op: &Op<'_>, numbers: &[Numbers], when: &When, asked: Option<&Asked>) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    put(&mut out, op.cost, 4);
    put(&mut out, when.at.map_or(0, Time::as_micros), 7);
    for ((item, numbers), around) in op.items.iter().zip(numbers).zip(&when.windows) {
        put_numbers(&mut out, item, numbers, *around, op.cost);
    }
    if let Some(asked) = asked {
        put(&mut out, op.remembered_for().as_micros(), 7);
        let handle = op.found_under().unwrap_or_default();
        put(&mut out, u64::try_from(handle.len()).unwrap_or(u64::MAX), 2);
        out.extend_from_slice(&handle);
        asked.write_to(&mut out);
    }
    out
}

/// The numbers of one limit, as `lua/*.lua` read them.
fn put_numbers(out: &mut Vec<u8>, item: &Item<'_>, numbers: &Numbers, around: Time, cost: u64) {
    let span = |out: &mut Vec<u8>, span: Span| put(out, span.as_micros(), 7);
    match *numbers {
        Numbers::Flow { capacity, ticks, parts } => put_flow(out, capacity, ticks, parts, cost),
        Numbers::Drip { size, drip, every } => {
            put(out, size, 4);
            put(out, drip, 4);
            span(out, every);
        }
        Numbers::Aligned { capacity, window }
        | Numbers::Request { capacity, window }
        | Numbers::Estimate { capacity, window }
        | Numbers::Held { capacity, ttl: window } => {
            put(out, capacity, 4);
            span(out, window);
        }
        Numbers::Calendar { capacity } => {
            put(out, capacity, 4);
            for bound in item.limit.windows_around(around).unwrap_or_default() {
                put(out, bound.as_micros(), 7);
            }
        }
        Numbers::Slots { capacity, width, life } => {
            put(out, capacity, 4);
            span(out, width);
            span(out, life);
        }
        Numbers::Fade { max, decay, resolution, floor } => {
            put(out, max.to_bits(), 8);
            put(out, decay.to_bits(), 8);
            span(out, resolution);
            put(out, floor.to_bits(), 8);
        }
        _ => {}
    }
}

/// How long an amount takes to sink, in whole ticks and parts of one.
fn sinks_in(units: u64, ticks: u64, parts: u64) -> (u64, u64) {
    let (amount, parts) = (u128::from(units) * u128::from(ticks), u128::from(parts.max(1)));
    let whole = u64::try_from(amount / parts).unwrap_or(u64::MAX);
    (whole, u64::try_from(amount % parts).unwrap_or(0))
}

/// The most a level may hold, and the longest it may take to sink: as the core says.
const MOST_COUNTED: u64 = (1 << 52) - 1;

fn put_flow(out: &mut Vec<u8>, capacity: u64, ticks: u64, parts: u64, cost: u64) {
    // Longer than anything may take is long enough, and fits.
    let longest = Span::MAX.as_micros();
    let (whole, rest) = sinks_in(cost, ticks, parts);
    put(out, whole.min(2 * longest), 7);
    put(out, rest, 4);
    let room = capacity.checked_sub(cost);
    match room.map(|room| sinks_in(room, ticks, parts)) {
        Some((whole, rest)) => {
            put(out, whole, 8);
            put(out, rest, 4);
        }
        None => {
            // It never fits: less than nothing.
            put(out, u64::MAX, 8);
            put(out, 0, 4);
        }
    }
    put(out, ticks, 7);
    put(out, parts, 4);
    put(out, room.unwrap_or(0), 4);
    let (whole, rest) = sinks_in(MOST_COUNTED, ticks, parts);
    let (whole, rest) = if whole >= longest { (longest, 0) } else { (whole, rest) };
    put(out, whole, 7);
    put(out, rest, 4);
}
