//! From an operation to the call of a script, and from its reply to a decision.

mod argument;
pub(crate) mod bytes;
pub(crate) mod checks;
pub(crate) mod key_hash;
pub(crate) mod keys;
pub(crate) mod reply;
pub(crate) mod task;

use std::borrow::Cow;
use std::slice;
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_core::storage::Handle;
use tollgate_core::{Act, Op, StoreError, Time};

use crate::call::argument::put_item;
use crate::call::bytes::put;
use crate::call::key_hash::KeyHash;
use crate::call::keys::{Prefix, Scope};
use crate::call::reply::CallTerms;
use crate::format::GENERATION_TTL_MS;
use crate::script::{Script, Scripts};
use crate::shape::{Costs, Idempotency, MAX_LIMITS, Positions, Shape, ShortVec};

/// Deletes its key.
static DELETE: LazyLock<Arc<Script>> =
    LazyLock::new(|| Arc::new(Script::new("redis.call('DEL', KEYS[1]) return ''".to_owned())));

/// Puts a generation of ids under its key that was never there before: the time in milliseconds, where others are
/// counted from one.
static BEGIN_GENERATION: LazyLock<Arc<Script>> = LazyLock::new(|| {
    let text = format!(
        "local now = redis.call('TIME')
        local generation = now[1] .. string.format('%03d', now[2] / 1000)
        redis.call('PSETEX', KEYS[1], {GENERATION_TTL_MS}, generation) return ''"
    );
    Arc::new(Script::new(text))
});

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
    pub(crate) internal_handle: Option<Handle>,
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

/// Maximum number of calls for one operation whose scripts ask for other calendar windows. One for each
/// limit is enough unless the server's clock jumps.
const MAX_WINDOW_CALLS: usize = 64;

/// When an operation happens.
#[derive(Debug, Clone)]
pub(crate) struct When {
    /// The time that the caller passed in.
    pub(crate) at: Option<Time>,
    /// Limits for which the script asked for the calendar windows around another instant. For all others
    /// the windows around our own time are sent.
    moved: Vec<(usize, Time)>,
    /// How often the script asked.
    asked: usize,
}

impl When {
    pub(crate) fn new(at: Option<Time>) -> When {
        When { at, moved: Vec::new(), asked: 0 }
    }

    /// Sends the windows around another instant for the limit at this position, as the script asked.
    ///
    /// # Errors
    /// Fails if it asked too often.
    pub(crate) fn move_windows(&mut self, position: usize, around: Time) -> Result<(), StoreError> {
        self.asked = self.asked.saturating_add(1);
        if self.asked >= MAX_WINDOW_CALLS {
            let unstable = "the server's clock jumps: each call needed other calendar windows";
            return Err(StoreError::unavailable(unstable));
        }
        self.moved.retain(|(known, _)| *known != position);
        self.moved.push((position, around));
        Ok(())
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
        let terms = CallTerms::of(op, positions);
        let keys = keys(op, &shape, positions, prefix);
        let argument = argument(part, when, &shape, &terms, &prefix.hash);
        Call { script: scripts.of(shape), keys, argument, terms }
    }
}

/// Returns the calls that forget what is kept for the subjects of a reset, whatever it is: their states, what was done
/// under ids, and what is kept under its own id.
pub(crate) fn forget_all(op: &Op<'_>, prefix: &Prefix) -> Vec<Call> {
    let mut states: Vec<Vec<u8>> =
        op.items.iter().map(|item| prefix.state(op.policy, item.subject)).collect();
    states.sort_unstable();
    states.dedup();
    let call = |script: &Arc<Script>, key| Call {
        script: Arc::clone(script),
        keys: std::iter::once(key).collect(),
        argument: Vec::new(),
        terms: CallTerms::of(op, &[]),
    };
    // Ids are kept beside the first state of a slot, which each may be.
    let mut scopes: Vec<Scope<'_>> =
        states.iter().map(|state| prefix.scope(op, slice::from_ref(state))).collect();
    if states.is_empty() {
        scopes.push(prefix.scope(op, &[]));
    }
    let mut calls = Vec::new();
    for scope in scopes {
        calls.push(call(&BEGIN_GENERATION, scope.generation()));
        calls.extend(op.id.map(|id| call(&DELETE, scope.id(id))));
    }
    calls.extend(states.into_iter().map(|state| call(&DELETE, state)));
    calls
}

/// Fails if no script can do an operation.
pub(crate) fn validate(op: &Op<'_>) -> Result<(), StoreError> {
    if op.items.len() > MAX_LIMITS {
        return Err(StoreError::malformed("more than 16 limits in one operation"));
    }
    op.validate()
}

/// Returns the keys of the subjects.
fn state_keys(
    op: &Op<'_>,
    shape: &Shape,
    positions: &Positions,
    prefix: &Prefix,
) -> ShortVec<Vec<u8>> {
    let mut keys = ShortVec::new();
    for (position, limit) in positions.iter().zip(&shape.limits) {
        // The key of a subject is added with its first limit.
        if let Some(item) =
            op.items.get(*position).filter(|_| usize::from(limit.subject) == keys.len())
        {
            keys.push(prefix.state(op.policy, item.subject));
        }
    }
    keys
}

fn keys(op: &Op<'_>, shape: &Shape, positions: &Positions, prefix: &Prefix) -> ShortVec<Vec<u8>> {
    let mut keys = state_keys(op, shape, positions, prefix);
    let scope = |keys: &[Vec<u8>]| prefix.scope(op, keys);
    match (shape.idempotency, op.id) {
        (Idempotency::Remember(_) | Idempotency::Recall(_) | Idempotency::Replace(_), Some(id)) => {
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
fn argument(
    part: &SlotOp<'_, '_>,
    when: &When,
    shape: &Shape,
    terms: &CallTerms,
    hash: &KeyHash,
) -> Vec<u8> {
    let op = &part.op;
    let mut out = Vec::with_capacity(ARGUMENT_BYTES);
    put_limits(&mut out, op, &part.positions, when);
    if shape.with_handle {
        let handle = hash.handle(op).unwrap_or_default();
        put_handle(&mut out, part.internal_handle.unwrap_or(handle));
        match part.commits {
            Some((_, reply)) => {
                put_handle(&mut out, handle);
                out.extend_from_slice(reply);
            }
            None => terms.write_to(&mut out),
        }
    }
    out
}

/// Appends the time, and the cost and the numbers of each limit.
fn put_limits(out: &mut Vec<u8>, op: &Op<'_>, positions: &Positions, when: &When) {
    put(out, when.at.map_or(0, Time::as_micros), 7);
    for position in positions {
        if let Some(item) = op.items.get(*position) {
            put_item(out, item, || when.around(*position));
        }
    }
}

fn put_handle(out: &mut Vec<u8>, handle: Handle) {
    put(out, u64::try_from(handle.0.len()).unwrap_or(u64::MAX), 2);
    out.extend_from_slice(&handle.0);
}
