//! The numbers of a limit in the argument of a script.

use tollgate_core::remote::{LimitParams as _, RuleParams};
use tollgate_core::storage::MAX_COUNT;
use tollgate_core::{Item, Span, Time};

use crate::call::bytes::put;
use crate::decimal;

/// Appends the cost and the numbers of one limit, as `lua/*.lua` read them.
pub(super) fn put_item(out: &mut Vec<u8>, item: &Item<'_>, around: impl Fn() -> Time) {
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

/// Appends the cost of one limit in a run, as `lua/*.lua` read it.
pub(super) fn put_run_cost(out: &mut Vec<u8>, item: &Item<'_>) {
    let Item { limit, cost, .. } = *item;
    if limit.capacity().is_some() {
        put(out, cost, 4);
    }
    if let RuleParams::Flow { capacity, ticks, parts } = limit.params() {
        let room = capacity.checked_sub(cost);
        put_flow_cost(out, room, ticks, parts, cost);
        put_double(out, room.unwrap_or(0));
    }
}

/// Returns how long an amount takes to drain, in whole ticks and parts of one.
fn drain_time(units: u64, ticks: u64, parts: u64) -> (u64, u64) {
    let (amount, parts) = (u128::from(units) * u128::from(ticks), u128::from(parts.max(1)));
    let whole = u64::try_from(amount / parts).unwrap_or(u64::MAX);
    (whole, u64::try_from(amount % parts).unwrap_or(0))
}

/// Returns the same, where twice the longest time that a debt may take to drain stands for anything longer; a
/// double holds it exactly.
fn bounded_drain_time(units: u64, ticks: u64, parts: u64) -> (u64, u64) {
    let (whole, rest) = drain_time(units, ticks, parts);
    let most = 2 * Span::MAX.as_micros();
    if whole < most { (whole, rest) } else { (most, 0) }
}

/// Appends how long the cost takes to drain, and what may be in the bucket before it.
fn put_flow_cost(out: &mut Vec<u8>, room: Option<u64>, ticks: u64, parts: u64, cost: u64) {
    let (whole, rest) = bounded_drain_time(cost, ticks, parts);
    put_double(out, whole);
    put_double(out, rest);
    match room.map(|room| bounded_drain_time(room, ticks, parts)) {
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
}

fn put_flow(out: &mut Vec<u8>, capacity: u64, ticks: u64, parts: u64, cost: u64) {
    let room = capacity.checked_sub(cost);
    put_flow_cost(out, room, ticks, parts, cost);
    put_double(out, ticks);
    put_double(out, parts);
    put_whole(out, decimal::code(ticks, parts).unwrap_or(0));
    put_double(out, room.unwrap_or(0));
    let longest = Span::MAX.as_micros();
    let (whole, rest) = drain_time(MAX_COUNT, ticks, parts);
    let (whole, rest) = if whole >= longest { (longest, 0) } else { (whole, rest) };
    put_double(out, whole);
    put_double(out, rest);
}

/// Appends a number of few digits.
#[expect(clippy::cast_precision_loss, reason = "it is small")]
fn put_whole(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(&(number as f64).to_le_bytes());
}

/// Appends a number below 2^53, which a double holds exactly.
#[expect(clippy::cast_precision_loss, reason = "below 2^53")]
fn put_double(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&(number as f64).to_le_bytes());
}
