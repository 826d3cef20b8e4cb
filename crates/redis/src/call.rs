//! From an operation to the call of a script, and from its reply to a decision.

pub(crate) mod bytes;
pub(crate) mod keys;
pub(crate) mod reply;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_core::remote::RuleParams;
use tollgate_core::storage::MAX_COUNT;
use tollgate_core::{Act, Item, Op, Span, StoreError, Time};

use crate::call::bytes::put;
use crate::call::keys::Prefix;
use crate::call::reply::{CallTerms, LimitTerms};
use crate::script::{Script, Scripts};
use crate::shape::{Costs, Idempotency, MAX_LIMITS, Positions, Shape, ShortVec};

/// One call of a script, ready to be sent.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) script: Arc<Script>,
    /// All keys that the script touches, in the order in which it expects them.
    pub(crate) keys: ShortVec<Vec<u8>>,
    pub(crate) argument: Vec<u8>,
    pub(crate) terms: CallTerms,
}

/// The part of an operation that is done in one call: those of its limits that live in one slot.
#[derive(Debug, Clone)]
pub(crate) struct SlotOp<'a, 'p> {
    pub(crate) op: Op<'a>,
    pub(crate) positions: Cow<'p, Positions>,
    /// What is done with the replies kept under the id. Default: what the act asks for.
    pub(crate) idempotency: Option<Idempotency>,
    /// Whether the script only finds out whether the operation could be done.
    pub(crate) dry_run: bool,
    /// A handle of our own for what the operation takes, instead of the caller's.
    pub(crate) internal_handle: Option<&'p [u8]>,
    /// Whether no reservation of nothing is opened, because a check is reserved, which could not settle it
    /// with more.
    pub(crate) skip_empty: bool,
    /// Whether the reply is kept even if nothing changes in this slot, because another slot changes.
    pub(crate) assume_changed: bool,
    /// For a commit of what was reserved under the internal handle: the act it was reserved for, and the
    /// reply to keep.
    pub(crate) commits: Option<(Act, &'p [u8])>,
}

impl<'a, 'p> SlotOp<'a, 'p> {
    /// Creates the part of an operation for these limits.
    pub(crate) fn new(op: &Op<'a>, positions: impl Into<Cow<'p, Positions>>) -> SlotOp<'a, 'p> {
        SlotOp {
            op: *op,
            positions: positions.into(),
            idempotency: None,
            dry_run: false,
            internal_handle: None,
            skip_empty: false,
            assume_changed: false,
            commits: None,
        }
    }
}

/// When an operation happens.
#[derive(Debug, Clone)]
pub(crate) struct When {
    /// The time that the caller passed in.
    pub(crate) at: Option<Time>,
    /// Limits for which the script asked for the calendar windows around another instant. For all others
    /// the windows around our own time are sent.
    moved: Vec<(usize, Time)>,
}

impl When {
    pub(crate) fn new(at: Option<Time>) -> When {
        When { at, moved: Vec::new() }
    }

    /// Sends the windows around another instant for the limit at this position, as the script asked.
    pub(crate) fn move_windows(&mut self, position: usize, around: Time) {
        self.moved.retain(|(known, _)| *known != position);
        self.moved.push((position, around));
    }

    fn around(&self, position: usize) -> Time {
        let moved = self.moved.iter().find(|(known, _)| *known == position);
        moved.map(|(_, around)| *around).or(self.at).unwrap_or_else(own_time)
    }
}

/// Returns the time of this machine, which only chooses the calendar windows that are sent.
fn own_time() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).ok().and_then(Time::from_micros).unwrap_or(Time::MAX)
}

impl Call {
    /// Creates the call that does this part of an operation.
    pub(crate) fn new(
        part: &SlotOp<'_, '_>,
        when: &When,
        prefix: &Prefix,
        scripts: &Scripts,
    ) -> Call {
        let (op, positions) = (&part.op, &*part.positions);
        let mut shape = Shape::of(op, positions, when.at.is_some());
        shape.idempotency = part.idempotency.unwrap_or(shape.idempotency);
        shape.with_handle |= part.internal_handle.is_some();
        shape.internal_handle = part.internal_handle.is_some();
        shape.dry_run = part.dry_run;
        shape.partial |= part.skip_empty && Costs::of(op, positions) != Costs::All;
        shape.assume_changed = part.assume_changed;
        shape.commits = part.commits.map(|(act, _)| act);
        let limits = positions.iter().filter_map(|position| {
            let Item { limit, cost, .. } = *op.items.get(*position)?;
            Some(LimitTerms { position: *position, capacity: limit.exact_capacity(), cost })
        });
        let terms = CallTerms(limits.collect());
        let keys = keys(op, &shape, positions, prefix);
        let argument = argument(part, when, &shape, &terms);
        Call { script: scripts.of(shape), keys, argument, terms }
    }
}

/// Fails if no script can do an operation.
pub(crate) fn validate(op: &Op<'_>) -> Result<(), StoreError> {
    if op.items.len() > MAX_LIMITS {
        return Err(StoreError::malformed("more than 16 limits in one operation"));
    }
    op.validate()
}

fn keys(op: &Op<'_>, shape: &Shape, positions: &Positions, prefix: &Prefix) -> ShortVec<Vec<u8>> {
    let mut keys = ShortVec::new();
    for (position, limit) in positions.iter().zip(&shape.limits) {
        // The key of a subject is added with its first limit.
        if let Some(item) =
            op.items.get(*position).filter(|_| usize::from(limit.subject) == keys.len())
        {
            keys.push(prefix.state(op.policy, item.subject));
        }
    }
    let scope = |keys: &[Vec<u8>]| prefix.scope(op, keys);
    match (shape.idempotency, op.id) {
        (Idempotency::Remember(_) | Idempotency::Recall(_), Some(id)) => {
            let scope = scope(&keys);
            keys.extend([scope.id(id), scope.generation()]);
        }
        (Idempotency::Forget, Some(id)) => keys.push(scope(&keys).id(id)),
        (Idempotency::ForgetAll, _) => keys.push(scope(&keys).generation()),
        _ => {}
    }
    keys
}

/// Capacity that is enough for most arguments.
const ARGUMENT_BYTES: usize = 128;

/// Returns the argument: the time, the cost and the numbers of each limit, and what is needed for an id.
fn argument(part: &SlotOp<'_, '_>, when: &When, shape: &Shape, terms: &CallTerms) -> Vec<u8> {
    let op = &part.op;
    let mut out = Vec::with_capacity(ARGUMENT_BYTES);
    put(&mut out, when.at.map_or(0, Time::as_micros), 7);
    for position in &*part.positions {
        if let Some(item) = op.items.get(*position) {
            put_item(&mut out, item, || when.around(*position));
        }
    }
    if shape.with_handle {
        // The reply of a commit is kept for as long as that of the act it commits.
        let act = part.commits.map_or(op.act, |(act, _)| act);
        put(&mut out, op.with_act(act).id_ttl().as_micros(), 7);
        let handle = op.handle().unwrap_or_default();
        put_handle(&mut out, part.internal_handle.unwrap_or(&handle));
        match part.commits {
            Some((_, reply)) => {
                put_handle(&mut out, &handle);
                out.extend_from_slice(reply);
            }
            None => terms.write_to(&mut out),
        }
    }
    out
}

fn put_handle(out: &mut Vec<u8>, handle: &[u8]) {
    put(out, u64::try_from(handle.len()).unwrap_or(u64::MAX), 2);
    out.extend_from_slice(handle);
}

/// Appends the cost and the numbers of one limit, as `lua/*.lua` read them.
fn put_item(out: &mut Vec<u8>, item: &Item<'_>, around: impl Fn() -> Time) {
    let Item { limit, cost, .. } = *item;
    if limit.capacity().is_some() {
        put(out, cost, 4);
    }
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

/// Returns how long an amount takes to drain, in whole ticks and parts of one.
fn drain_time(units: u64, ticks: u64, parts: u64) -> (u64, u64) {
    let (amount, parts) = (u128::from(units) * u128::from(ticks), u128::from(parts.max(1)));
    let whole = u64::try_from(amount / parts).unwrap_or(u64::MAX);
    (whole, u64::try_from(amount % parts).unwrap_or(0))
}

fn put_flow(out: &mut Vec<u8>, capacity: u64, ticks: u64, parts: u64, cost: u64) {
    // No debt may take longer to drain than this, so that twice as long stands for anything longer; a
    // double holds it exactly.
    let longest = Span::MAX.as_micros();
    let drain_time = |units| {
        let (whole, rest) = drain_time(units, ticks, parts);
        if whole < 2 * longest { (whole, rest) } else { (2 * longest, 0) }
    };
    let (cost_time, room) = (drain_time(cost), capacity.checked_sub(cost));
    put_double(out, cost_time.0);
    put_double(out, cost_time.1);
    match room.map(drain_time) {
        Some((whole, rest)) => {
            put_double(out, whole);
            put_double(out, rest);
        }
        // The cost never fits: the room is less than nothing.
        None => {
            out.extend_from_slice(&(-1.0_f64).to_le_bytes());
            put_double(out, 0);
        }
    }
    put_double(out, ticks);
    put_double(out, parts);
    put_double(out, room.unwrap_or(0));
    let (whole, rest) = drain_time(MAX_COUNT);
    let (whole, rest) = if whole >= longest { (longest, 0) } else { (whole, rest) };
    put_double(out, whole);
    put_double(out, rest);
}

/// Appends a number below 2^53, which a double holds exactly.
#[expect(clippy::cast_precision_loss, reason = "below 2^53")]
fn put_double(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&(number as f64).to_le_bytes());
}
