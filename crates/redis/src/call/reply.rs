//! What a script answers, and what it means.

use tollgate_core::remote::{RemoteState, remote_decision};
use tollgate_core::storage::{Capacity, Packed, Terms};
use tollgate_core::{Decision, Span, StoreError, Time};

use crate::call::bytes::Reader;
use crate::call::shape::{BODY_BYTES, Few, SUMMARY_BYTES};
use crate::script::VERSION;

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
#[expect(clippy::large_enum_variant, reason = "nearly all are decided, and none is kept")]
pub(crate) enum Reply {
    Decided(Decided),
    /// Ask again, with the windows around this instant for the limit at this position.
    Again(Time, usize),
    Overdrawn,
}

/// What the limits of one place have decided, and what is left there.
#[derive(Debug)]
pub(crate) struct Decided {
    /// Whether they all allow it, if that was asked.
    pub(crate) allowed: bool,
    /// Whether that was decided before, under the same id.
    pub(crate) remembered: bool,
    /// The cost, and what each limit was measured by, when it was decided. For an answer that was
    /// remembered that is another time, and they may have changed since.
    cost: u64,
    limits: Few<(usize, Capacity, RemoteState, Time)>,
    /// The answer as it came.
    pub(crate) bytes: Vec<u8>,
}

/// What was asked, as far as it matters to the answer.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) cost: u64,
    /// What each limit is measured by, with its position.
    pub(crate) measures: Few<(usize, Capacity)>,
}

impl Asked {
    /// For whoever repeats it: the answer then needs the numbers of now.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        let short = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        out.extend_from_slice(&self.cost.to_le_bytes());
        out.push(short(self.measures.len()));
        for (position, measure) in &self.measures {
            let (kind, word) = measure.to_words();
            out.extend([short(*position), kind]);
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    fn read_from(bytes: &mut Reader<'_>) -> Option<Asked> {
        let cost = bytes.number(8)?;
        let count = usize::from(bytes.byte()?);
        let measures = (0..count).map_while(|_| {
            let (position, kind) = (usize::from(bytes.byte()?), bytes.byte()?);
            Some((position, Capacity::from_words(kind, bytes.number(8)?)?))
        });
        let measures: Few<(usize, Capacity)> = measures.collect();
        (measures.len() == count).then_some(Asked { cost, measures })
    }
}

impl Reply {
    /// Reads an answer.
    ///
    /// # Errors
    /// If it is none of ours.
    pub(crate) fn read(bytes: Vec<u8>, asked: &Asked) -> Result<Reply, StoreError> {
        let Some(mut reply) = read(&mut Reader::new(&bytes), asked) else {
            return Err(StoreError::unavailable(format!("the script answered {bytes:?}")));
        };
        if let Reply::Decided(decided) = &mut reply {
            decided.bytes = bytes;
        }
        Ok(reply)
    }
}

impl Decided {
    /// What these limits say.
    pub(crate) fn decision(&self, asks: bool) -> Decision {
        let limits = self.limits.iter().map(|(_, measure, left, now)| (*measure, *left, *now));
        remote_decision(self.allowed || !asks, self.cost, limits)
    }

    /// What all places together say.
    pub(crate) fn decision_of_all(places: Vec<Decided>, asks: bool) -> Decision {
        let allowed = places.iter().all(|place| place.allowed);
        let cost = places.first().map_or(0, |place| place.cost);
        let mut limits: Few<_> = places.into_iter().flat_map(|place| place.limits).collect();
        limits.sort_by_key(|(position, ..)| *position);
        Decided { allowed, remembered: false, cost, limits, bytes: Vec::new() }.decision(asks)
    }

    /// What all places together say, if some limits were asked again since.
    pub(crate) fn decision_of_newest(mut places: Vec<Decided>, newer: Vec<Decided>) -> Decision {
        for (position, measure, left, now) in newer.into_iter().flat_map(|place| place.limits) {
            let limits = places.iter_mut().flat_map(|place| place.limits.iter_mut());
            for limit in limits.filter(|limit| limit.0 == position) {
                *limit = (position, measure, left, now);
            }
        }
        Decided::decision_of_all(places, true)
    }

    /// What each limit was measured by.
    pub(crate) fn measures(&self) -> Few<(usize, Capacity)> {
        self.limits.iter().map(|(position, measure, ..)| (*position, *measure)).collect()
    }
}

fn read(bytes: &mut Reader<'_>, asked: &Asked) -> Option<Reply> {
    let first = bytes.byte()?;
    if first == REMEMBERED {
        let asked = Asked::read_from(bytes)?;
        // What is remembered was decided; it is not remembered itself.
        let mut reply = read_new(bytes.byte()?, bytes, &asked)?;
        if let Reply::Decided(decided) = &mut reply {
            decided.remembered = true;
        }
        return Some(reply);
    }
    read_new(first, bytes, asked)
}

fn read_new(first: u8, bytes: &mut Reader<'_>, asked: &Asked) -> Option<Reply> {
    let now = Time::from_micros(bytes.number(7)?)?;
    match first {
        AGAIN => Some(Reply::Again(now, usize::from(bytes.byte()?))),
        OVERDRAWN => Some(Reply::Overdrawn),
        REMEMBERED => None,
        _ => {
            let states = read_states(bytes)?;
            let limits = asked.measures.iter().map(|(position, measure)| {
                let left = states.iter().find(|(tag, _)| tag == position);
                (*position, *measure, left.map_or(RemoteState::Nothing, |(_, left)| *left), now)
            });
            let limits = limits.collect();
            let (allowed, cost) = (first == ALLOWED, asked.cost);
            let bytes = Vec::new();
            Some(Reply::Decided(Decided { allowed, remembered: false, cost, limits, bytes }))
        }
    }
}

/// The states that are left, with the positions of their limits.
fn read_states(bytes: &mut Reader<'_>) -> Option<Few<(usize, RemoteState)>> {
    let mut left = Few::new();
    if bytes.byte()? != VERSION {
        return None;
    }
    while let Some(tag) = bytes.byte() {
        left.push((usize::from(tag / 16), read_state(bytes, tag % 16)?));
    }
    Some(left)
}

fn read_state(bytes: &mut Reader<'_>, rule: u8) -> Option<RemoteState> {
    let size = *BODY_BYTES.get(usize::from(rule))?;
    let mut body = bytes.part(if size == 0 { SUMMARY_BYTES } else { size })?;
    if size == 0 {
        let mut time = || body.number(7).map(Span::from_micros);
        let (used, fits_at, resets) = (time()?, time()?, time()?);
        return Some(RemoteState::Counted { used: used.as_micros(), fits_at, resets });
    }
    read_packed(&mut body, rule).map(RemoteState::Packed)
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
