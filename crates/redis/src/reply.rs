//! What a script answers, and what it means.

use tollgate_core::{Capacity, Decision, Left, Packed, Span, StoreError, Terms, Time, explain};

use crate::bytes::Reader;
use crate::script::VERSION;
use crate::shape::{BODY_BYTES, SUMMARY_BYTES};

/// The first byte: denied is zero.
pub(crate) const ALLOWED: u8 = 1;
/// The time lies outside the calendar windows that were sent along; nothing was done.
pub(crate) const AGAIN: u8 = 2;
/// The debt would be too large; nothing was done.
pub(crate) const OVERDRAWN: u8 = 3;
/// It was done before under the same id; this is what was answered then.
pub(crate) const REMEMBERED: u8 = 4;

/// An answer, understood.
#[derive(Debug)]
pub(crate) enum Reply {
    Decided(Decision),
    /// Ask again, with the windows around this instant for the limit at this position.
    Again(Time, usize),
    Overdrawn,
}

/// What was asked, as far as it matters to the answer.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Whether it could be denied.
    pub(crate) asks: bool,
    pub(crate) cost: u64,
    pub(crate) measures: Vec<Capacity>,
}

impl Asked {
    /// For whoever repeats it: the answer then needs the numbers of now.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.cost.to_le_bytes());
        out.push(u8::try_from(self.measures.len()).unwrap_or(u8::MAX));
        for measure in &self.measures {
            let (kind, word) = measure.to_words();
            out.push(kind);
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    fn read_from(asks: bool, bytes: &mut Reader<'_>) -> Option<Asked> {
        let cost = bytes.number(8)?;
        let count = usize::from(bytes.byte()?);
        let measure = |_| Capacity::from_words(bytes.byte()?, bytes.number(8)?);
        let measures: Vec<Capacity> = (0..count).map_while(measure).collect();
        (measures.len() == count).then_some(Asked { asks, cost, measures })
    }
}

impl Reply {
    /// Reads an answer.
    ///
    /// # Errors
    /// If it is none of ours.
    pub(crate) fn read(bytes: &[u8], asked: &Asked) -> Result<Reply, StoreError> {
        let odd = || StoreError::unavailable(format!("the script answered {bytes:?}"));
        read(&mut Reader::new(bytes), asked).ok_or_else(odd)
    }
}

fn read(bytes: &mut Reader<'_>, asked: &Asked) -> Option<Reply> {
    let first = bytes.byte()?;
    if first == REMEMBERED {
        let asked = Asked::read_from(asked.asks, bytes)?;
        return read(bytes, &asked);
    }
    let now = Time::from_micros(bytes.number(7)?)?;
    match first {
        AGAIN => Some(Reply::Again(now, usize::from(bytes.byte()?))),
        OVERDRAWN => Some(Reply::Overdrawn),
        _ => {
            let left = read_states(bytes, asked.measures.len())?;
            let allowed = first == ALLOWED || !asked.asks;
            let limits = asked.measures.iter().copied().zip(left);
            Some(Reply::Decided(explain(allowed, asked.cost, now, limits)))
        }
    }
}

/// The states of the limits, in their order.
fn read_states(bytes: &mut Reader<'_>, limits: usize) -> Option<Vec<Left>> {
    let mut left = vec![Left::Nothing; limits];
    if bytes.byte()? != VERSION {
        return None;
    }
    while let Some(tag) = bytes.byte() {
        let state = read_state(bytes, tag % 16)?;
        *left.get_mut(usize::from(tag / 16))? = state;
    }
    Some(left)
}

fn read_state(bytes: &mut Reader<'_>, rule: u8) -> Option<Left> {
    let size = *BODY_BYTES.get(usize::from(rule))?;
    let mut body = bytes.part(if size == 0 { SUMMARY_BYTES } else { size })?;
    if size == 0 {
        let mut time = || body.number(7).map(Span::from_micros);
        let (used, fits_at, resets) = (time()?, time()?, time()?);
        return Some(Left::Counted { used: used.as_micros(), fits_at, resets });
    }
    read_packed(&mut body, rule).map(Left::Packed)
}

/// The states of a few numbers, as `lua/*.lua` write them.
fn read_packed(body: &mut Reader<'_>, rule: u8) -> Option<Packed> {
    match rule {
        1 => {
            let (tick, rest) = (body.number(7)?, body.number(4)?);
            let (ticks, parts) = (body.number(7)?, body.number(4)?);
            let empty = u128::from(tick) * u128::from(parts) + u128::from(rest);
            let halves = [empty & u128::from(u64::MAX), empty >> 64].map(u64::try_from);
            let [Ok(low), Ok(high)] = halves else { return None };
            Some(Packed::new(Terms::from_words([0, ticks, parts, 0])?, [low, high, 0]))
        }
        2 => {
            let (level, since) = (body.number(7)?, body.number(7)?);
            let (drip, every) = (body.number(4)?, body.number(7)?);
            Some(Packed::new(Terms::from_words([1, drip, every, 0])?, [level, since, 0]))
        }
        3 => {
            let (count, start, end) = (body.number(7)?, body.number(7)?, body.number(7)?);
            Some(Packed::new(Terms::from_words([2, 0, 0, 0])?, [count, start, end]))
        }
        5 => {
            let (start, window) = (body.number(7)?, body.number(7)?);
            let (last, count) = (body.number(7)?, body.number(7)?);
            Some(Packed::new(Terms::from_words([3, window, 0, 0])?, [start, last, count]))
        }
        6 => {
            let (level, since) = (body.number(8)?, body.number(7)?);
            let (decay, resolution, floor) = (body.number(8)?, body.number(7)?, body.number(8)?);
            let terms = Terms::from_words([4, decay, resolution, floor])?;
            Packed::of_level(terms, f64::from_bits(level), Time::from_micros(since)?)
        }
        _ => None,
    }
}
