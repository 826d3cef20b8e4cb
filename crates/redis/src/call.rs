//! From an operation to the call of a script, and from its answer to what was decided.

pub(crate) mod bytes;
pub(crate) mod keys;
pub(crate) mod reply;
pub(crate) mod shape;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_core::remote::RuleParams;
use tollgate_core::storage::MAX_COUNT;
use tollgate_core::{Act, Limit, Op, Span, StoreError, Time};

use crate::call::bytes::put;
use crate::call::keys::Prefix;
use crate::call::reply::Asked;
use crate::call::shape::{Answers, Few, MAX_LIMITS, Positions, Shape};
use crate::script::{Script, Scripts};

/// One call, ready to be sent.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) script: Arc<Script>,
    /// All keys it touches, in the order in which the script knows them.
    pub(crate) keys: Few<Vec<u8>>,
    pub(crate) argument: Vec<u8>,
    pub(crate) asked: Asked,
}

/// What is done of an operation in one call: some of its limits, which are counted in the same place.
#[derive(Debug, Clone)]
pub(crate) struct Part<'a, 'p> {
    pub(crate) op: Op<'a>,
    pub(crate) positions: Cow<'p, Positions>,
    /// What is done about the answers given under its id, if not what its act says.
    pub(crate) answers: Option<Answers>,
    /// Whether it is only tried.
    pub(crate) dry: bool,
    /// A handle of our own for what it takes.
    pub(crate) mark: Option<&'p [u8]>,
    /// Whether it is remembered though it changes nothing here: it does elsewhere.
    pub(crate) changes: bool,
    /// For closing what was reserved under the mark: the act it was for, and what it was answered.
    pub(crate) closes: Option<(Act, &'p [u8])>,
}

impl<'a, 'p> Part<'a, 'p> {
    /// These limits of an operation, as its act says.
    pub(crate) fn new(op: &Op<'a>, positions: impl Into<Cow<'p, Positions>>) -> Part<'a, 'p> {
        let positions = positions.into();
        let (answers, mark, closes) = (None, None, None);
        Part { op: *op, positions, answers, dry: false, mark, changes: false, closes }
    }
}

/// When an operation happens.
#[derive(Debug, Clone)]
pub(crate) struct When {
    /// The time that was passed in.
    pub(crate) at: Option<Time>,
    /// The calendar windows that are sent along lie around our own time, but for these limits around
    /// where the script asked for.
    moved: Vec<(usize, Time)>,
}

impl When {
    pub(crate) fn new(at: Option<Time>) -> When {
        When { at, moved: Vec::new() }
    }

    /// The script asked for the windows around another instant.
    pub(crate) fn look_around(&mut self, position: usize, around: Time) {
        self.moved.retain(|(known, _)| *known != position);
        self.moved.push((position, around));
    }

    fn around(&self, position: usize) -> Time {
        let moved = self.moved.iter().find(|(known, _)| *known == position);
        moved.map(|(_, around)| *around).or(self.at).unwrap_or_else(own_time)
    }
}

/// Only for choosing which windows of the calendar to send along.
fn own_time() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).ok().and_then(Time::from_micros).unwrap_or(Time::MAX)
}

impl Call {
    /// The call that does one part.
    pub(crate) fn new(
        part: &Part<'_, '_>,
        when: &When,
        prefix: &Prefix,
        scripts: &Scripts,
    ) -> Call {
        let (op, positions) = (&part.op, &*part.positions);
        let mut shape = Shape::of(op, positions, when.at.is_some());
        shape.answers = part.answers.unwrap_or(shape.answers);
        shape.with_handle |= part.mark.is_some();
        shape.marks = part.mark.is_some();
        shape.dry = part.dry;
        shape.changes = part.changes;
        shape.closes = part.closes.map(|(act, _)| act);
        let items = positions.iter().filter_map(|position| op.items.get(*position));
        let measures = positions.iter().copied().zip(items.map(|item| item.limit.exact_capacity()));
        let asked = Asked { cost: op.cost, measures: measures.collect() };
        let keys = keys(op, &shape, positions, prefix);
        let argument = argument(part, when, &shape, &asked);
        Call { script: scripts.of(shape), keys, argument, asked }
    }
}

/// Why an operation cannot be done by any script, if that is so.
pub(crate) fn mistake(op: &Op<'_>) -> Option<StoreError> {
    if op.items.len() > MAX_LIMITS {
        return Some(StoreError::malformed("more than 16 limits in one operation"));
    }
    op.validate()
}

fn keys(op: &Op<'_>, shape: &Shape, positions: &Positions, prefix: &Prefix) -> Few<Vec<u8>> {
    let mut keys = Few::new();
    for (position, form) in positions.iter().zip(&shape.forms) {
        // The first limit of each subject brings its key.
        if let Some(item) =
            op.items.get(*position).filter(|_| usize::from(form.group) == keys.len())
        {
            keys.push(prefix.state(op.policy, item.subject));
        }
    }
    let scope = |keys: &[Vec<u8>]| prefix.scope(op, keys);
    match (shape.answers, op.id) {
        (Answers::Remember(_) | Answers::Recall(_), Some(id)) => {
            let scope = scope(&keys);
            keys.extend([scope.id(id), scope.generation()]);
        }
        (Answers::Forget, Some(id)) => keys.push(scope(&keys).id(id)),
        (Answers::ForgetAll, _) => keys.push(scope(&keys).generation()),
        _ => {}
    }
    keys
}

/// What most arguments fit into.
const ARGUMENT_BYTES: usize = 128;

/// One string: the cost and the time, the numbers of each limit, and what is needed for an id.
fn argument(part: &Part<'_, '_>, when: &When, shape: &Shape, asked: &Asked) -> Vec<u8> {
    let op = &part.op;
    let mut out = Vec::with_capacity(ARGUMENT_BYTES);
    put(&mut out, op.cost, 4);
    put(&mut out, when.at.map_or(0, Time::as_micros), 7);
    for position in &*part.positions {
        if let Some(item) = op.items.get(*position) {
            put_numbers(&mut out, item.limit, || when.around(*position), op.cost);
        }
    }
    if shape.with_handle {
        // What is closed is remembered for as long as what it was for.
        let act = part.closes.map_or(op.act, |(act, _)| act);
        put(&mut out, Op { act, ..*op }.id_ttl().as_micros(), 7);
        let handle = op.handle().unwrap_or_default();
        put_name(&mut out, part.mark.unwrap_or(&handle));
        match part.closes {
            Some((_, answered)) => {
                put_name(&mut out, &handle);
                out.extend_from_slice(answered);
            }
            None => asked.write_to(&mut out),
        }
    }
    out
}

fn put_name(out: &mut Vec<u8>, name: &[u8]) {
    put(out, u64::try_from(name.len()).unwrap_or(u64::MAX), 2);
    out.extend_from_slice(name);
}

/// The numbers of one limit, as `lua/*.lua` read them.
fn put_numbers(out: &mut Vec<u8>, limit: &Limit, around: impl Fn() -> Time, cost: u64) {
    let span = |out: &mut Vec<u8>, span: Span| put(out, span.as_micros(), 7);
    match limit.params() {
        RuleParams::Flow { capacity, ticks, parts } => put_flow(out, capacity, ticks, parts, cost),
        RuleParams::Drip { size, drip, every } => {
            put(out, size, 4);
            put(out, drip, 4);
            span(out, every);
        }
        RuleParams::Aligned { capacity, window }
        | RuleParams::Request { capacity, window }
        | RuleParams::Estimate { capacity, window }
        | RuleParams::Held { capacity, ttl: window } => {
            put(out, capacity, 4);
            span(out, window);
        }
        RuleParams::Calendar { capacity } => {
            put(out, capacity, 4);
            for bound in limit.windows_around(around()).unwrap_or_default() {
                put(out, bound.as_micros(), 7);
            }
        }
        RuleParams::Slots { capacity, width, life } => {
            put(out, capacity, 4);
            span(out, width);
            span(out, life);
        }
        RuleParams::Fade { max, decay, resolution, floor } => {
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

fn put_flow(out: &mut Vec<u8>, capacity: u64, ticks: u64, parts: u64, cost: u64) {
    // Longer than anything may take is long enough, and a double can say it.
    let longest = Span::MAX.as_micros();
    let sinks_in = |units| {
        let (whole, rest) = sinks_in(units, ticks, parts);
        if whole < 2 * longest { (whole, rest) } else { (2 * longest, 0) }
    };
    let (weight, room) = (sinks_in(cost), capacity.checked_sub(cost));
    put_double(out, weight.0);
    put_double(out, weight.1);
    match room.map(sinks_in) {
        Some((whole, rest)) => {
            put_double(out, whole);
            put_double(out, rest);
        }
        // It never fits: less than nothing.
        None => {
            out.extend_from_slice(&(-1.0_f64).to_le_bytes());
            put_double(out, 0);
        }
    }
    put_double(out, ticks);
    put_double(out, parts);
    put_double(out, room.unwrap_or(0));
    let (whole, rest) = sinks_in(MAX_COUNT);
    let (whole, rest) = if whole >= longest { (longest, 0) } else { (whole, rest) };
    put_double(out, whole);
    put_double(out, rest);
}

/// A number below 2^53, which a double says exactly.
#[expect(clippy::cast_precision_loss, reason = "below 2^53")]
fn put_double(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&(number as f64).to_le_bytes());
}
