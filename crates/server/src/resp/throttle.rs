//! `CL.THROTTLE key max_burst count_per_period period [quantity]`, as redis-cell has it: the limit comes
//! with the command.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use tollgate_core::{Act, Key, Limit, MAX_COST, Name};

use super::parse::Command;
use crate::engine::operation::Operation;
use crate::error::told;
use crate::policy::INLINE_POLICY;

/// How many limits are kept at hand. Whoever sends more has them read anew.
const MAX_LIMITS: usize = 1_024;

const USAGE: &str = "Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]";

/// What all these limits count under.
static POLICY: LazyLock<Name> = LazyLock::new(|| Name::new(INLINE_POLICY).unwrap_or_default());

/// Burst, count and period as they were sent.
type Rate = (i64, i64, i64);

/// The limits that came with commands lately.
#[derive(Debug, Default)]
pub(crate) struct Rates(RefCell<HashMap<Rate, Rc<Limit>, RandomState>>);

impl Rates {
    fn limit(&self, rate: Rate) -> Result<Rc<Limit>, String> {
        let mut known = self.0.borrow_mut();
        if let Some(limit) = known.get(&rate) {
            return Ok(Rc::clone(limit));
        }
        let limit = Rc::new(parse(rate)?);
        if known.len() >= MAX_LIMITS {
            known.clear();
        }
        known.insert(rate, Rc::clone(&limit));
        Ok(limit)
    }
}

#[cold]
fn parse((burst, count, period): Rate) -> Result<Limit, String> {
    if count <= 0 || period <= 0 {
        return Err(String::from("Zero rates are not supported"));
    }
    let burst = i128::from(burst) + 1;
    let limit = format!("gcra {count}/{period}s burst {burst}").parse::<Limit>();
    limit.map_err(|error| error.to_string())
}

/// Reads the command.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn read<'a>(command: &Command<'a>, rates: &Rates) -> Result<Operation<'a>, String> {
    let (Some(key), Some(burst), Some(count), Some(period), 5..=6) =
        (command.word(1), command.word(2), command.word(3), command.word(4), command.len())
    else {
        return Err(USAGE.to_owned());
    };
    let rate = (number(burst)?, number(count)?, number(period)?);
    let quantity = command.word(5).map_or(Ok(1), number)?;
    let limit = rates.limit(rate)?;
    let most = limit.capacity().unwrap_or(MAX_COST);
    let key = Key::new(key).map_err(|unfit| unfit.to_string())?;
    let act = match quantity {
        0 => Act::Peek,
        ..0 => Act::Refund,
        1.. => Act::Check,
    };
    let cost = match act {
        // Nothing is given back beyond full; and more than ever fits does not fit, however much more.
        act if act == Act::Refund || most < MAX_COST => quantity.unsigned_abs().min(MAX_COST),
        _ => quantity.unsigned_abs(),
    };
    Ok(Operation::inline(&POLICY, limit, key, act, cost))
}

/// As many digits as cannot overflow.
const SAFE_DIGITS: usize = 18;

#[inline]
fn number(word: &[u8]) -> Result<i64, String> {
    if !(1..=SAFE_DIGITS).contains(&word.len()) {
        return odd_number(word);
    }
    let mut value = 0;
    for byte in word {
        if !byte.is_ascii_digit() {
            return odd_number(word);
        }
        value = value * 10 + i64::from(byte - b'0');
    }
    Ok(value)
}

/// Signs and great numbers.
#[cold]
fn odd_number(word: &[u8]) -> Result<i64, String> {
    let number = std::str::from_utf8(word).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("Couldn't parse as integer: {}", told(word)))
}
