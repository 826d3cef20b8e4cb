//! `CL.THROTTLE key max_burst count_per_period period [quantity]`, as in redis-cell: the limit is given in
//! the command.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use tollgate_core::{Act, Key, Limit, MAX_COST, Name};

use super::parse::Command;
use crate::engine::operation::Operation;
use crate::error::excerpt_lossy;
use crate::policy::INLINE_POLICY;

/// Maximum number of cached limits. Clients that use more have them parsed again.
const MAX_LIMITS: usize = 1_024;

const USAGE: &str = "Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]";

/// The name under which all these limits are stored.
static POLICY: LazyLock<Name> = LazyLock::new(|| Name::new(INLINE_POLICY).unwrap_or_default());

/// The burst, count and period of a command.
type Rate = (i64, i64, i64);

/// Caches the limits of recent commands.
#[derive(Debug, Default)]
pub(crate) struct LimitCache(RefCell<HashMap<Rate, Rc<Limit>, RandomState>>);

impl LimitCache {
    fn limit(&self, rate: Rate) -> Result<Rc<Limit>, String> {
        let mut limits = self.0.borrow_mut();
        if let Some(limit) = limits.get(&rate) {
            return Ok(Rc::clone(limit));
        }
        let limit = Rc::new(parse_rate(rate)?);
        if limits.len() >= MAX_LIMITS {
            limits.clear();
        }
        limits.insert(rate, Rc::clone(&limit));
        Ok(limit)
    }
}

#[cold]
fn parse_rate((burst, count, period): Rate) -> Result<Limit, String> {
    if count <= 0 || period <= 0 {
        return Err(String::from("Zero rates are not supported"));
    }
    let burst = i128::from(burst) + 1;
    let limit = format!("gcra {count}/{period}s burst {burst}").parse::<Limit>();
    limit.map_err(|error| error.to_string())
}

/// Parses the command.
///
/// # Errors
/// Returns the message of the error reply if the command is invalid.
pub(crate) fn parse<'a>(
    command: &Command<'a>,
    limits: &LimitCache,
) -> Result<Operation<'a>, String> {
    let (Some(key), Some(burst), Some(count), Some(period), 5..=6) =
        (command.arg(1), command.arg(2), command.arg(3), command.arg(4), command.len())
    else {
        return Err(USAGE.to_owned());
    };
    let rate = (parse_number(burst)?, parse_number(count)?, parse_number(period)?);
    let quantity = command.arg(5).map_or(Ok(1), parse_number)?;
    let limit = limits.limit(rate)?;
    let capacity = limit.capacity().unwrap_or(MAX_COST);
    let key = Key::new(key).map_err(|error| error.to_string())?;
    let act = match quantity {
        0 => Act::Peek,
        ..0 => Act::Refund,
        1.. => Act::Check,
    };
    let cost = match act {
        // The largest cost has the same result as any larger quantity: a refund stops when the limit is
        // full, and a check above the capacity is always denied.
        act if act == Act::Refund || capacity < MAX_COST => quantity.unsigned_abs().min(MAX_COST),
        _ => quantity.unsigned_abs(),
    };
    Ok(Operation::inline(&POLICY, limit, key, act, cost))
}

/// Number of digits that cannot overflow.
const SAFE_DIGITS: usize = 18;

#[inline]
fn parse_number(arg: &[u8]) -> Result<i64, String> {
    if !(1..=SAFE_DIGITS).contains(&arg.len()) {
        return parse_any_number(arg);
    }
    let mut value = 0;
    for byte in arg {
        if !byte.is_ascii_digit() {
            return parse_any_number(arg);
        }
        value = value * 10 + i64::from(byte - b'0');
    }
    Ok(value)
}

/// Parses numbers with a sign and large numbers.
#[cold]
fn parse_any_number(arg: &[u8]) -> Result<i64, String> {
    let number = std::str::from_utf8(arg).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("Couldn't parse as integer: {}", excerpt_lossy(arg)))
}
