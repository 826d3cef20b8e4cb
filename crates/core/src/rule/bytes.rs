//! States as bytes, for stores that outlive their process.
//!
//! All numbers are little-endian. Reading trusts nothing: what is not a state is `None`, and no
//! more is allocated than there are bytes.

use super::entry::Reservation;
use super::held::Lease;
use super::packed::{Pack, Packed, Terms, Under};
use super::slots::{Cut, Slot};
use super::{AnyEntry, Drip, Entry, Estimate, Fade, Flow, RuleState, State, Window};
use super::{drip, fade, flow, held, slots};
use crate::time::{Span, Time};

impl Terms {
    /// The numbers as words.
    #[must_use]
    pub fn to_words(self) -> [u64; 4] {
        match self.0 {
            Under::Flow(pace) => [0, pace.ticks, pace.parts, 0],
            Under::Drip(leak) => [1, leak.drip, leak.every.as_micros(), 0],
            Under::Window => [2, 0, 0, 0],
            Under::Estimate(window) => [3, window.as_micros(), 0, 0],
            Under::Fade(fading) => {
                let (decay, resolution, floor) = fading.params();
                [4, decay.to_bits(), resolution.as_micros(), floor.to_bits()]
            }
        }
    }

    /// The terms that [`to_words`](Terms::to_words) gave; `None` if it cannot have been these.
    #[must_use]
    pub fn from_words([kind, a, b, c]: [u64; 4]) -> Option<Terms> {
        let span = |micros| Some(Span::from_micros(micros)).filter(|s| *s > Span::ZERO);
        let under = match kind {
            0 if a > 0 && b > 0 => Under::Flow(flow::Pace { ticks: a, parts: b }),
            1 if a > 0 => Under::Drip(drip::Leak { drip: a, every: span(b)? }),
            2 => Under::Window,
            3 => Under::Estimate(span(a)?),
            4 => {
                let (decay, floor) = (f64::from_bits(a), f64::from_bits(c));
                Under::Fade(fade::Fading::new(decay, span(b)?, floor)?)
            }
            _ => return None,
        };
        Some(Terms(under))
    }
}

impl State {
    /// Appends the state.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match &self.0 {
            AnyEntry::Flow(entry) => write_book(out, 0, entry, write_packed::<Flow>),
            AnyEntry::Drip(entry) => write_book(out, 1, entry, write_packed::<Drip>),
            AnyEntry::Window(entry) => write_book(out, 2, entry, write_packed::<Window>),
            AnyEntry::Estimate(entry) => write_book(out, 3, entry, write_packed::<Estimate>),
            AnyEntry::Fade(entry) => write_book(out, 4, entry, write_packed::<Fade>),
            AnyEntry::Slots(entry) => write_book(out, 5, entry, write_slots),
            AnyEntry::Held(entry) => write_book(out, 6, entry, write_leases),
        }
    }

    /// Takes a state from the front of the bytes; `None` if there is none.
    #[must_use]
    pub fn read_from(bytes: &mut &[u8]) -> Option<State> {
        match u8::try_from(word(bytes)?).ok()? {
            0 => read_book(bytes, read_packed::<Flow>),
            1 => read_book(bytes, read_packed::<Drip>),
            2 => read_book(bytes, read_packed::<Window>),
            3 => read_book(bytes, read_packed::<Estimate>),
            4 => read_book(bytes, read_packed::<Fade>),
            5 => read_book(bytes, read_slots),
            6 => read_book(bytes, read_leases),
            _ => None,
        }
    }
}

/// What the instants and counts of every state stay below.
const LONGEST: u64 = 1 << Packed::WORD_BITS;

fn put(out: &mut Vec<u8>, words: impl IntoIterator<Item = u64>) {
    for word in words {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

fn length(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, [length(bytes.len())]);
    out.extend_from_slice(bytes);
}

fn word(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*first))
}

fn words<const N: usize>(bytes: &mut &[u8]) -> Option<[u64; N]> {
    let mut words = [0; N];
    for place in &mut words {
        *place = word(bytes)?;
    }
    Some(words)
}

fn some_bytes(bytes: &mut &[u8]) -> Option<Box<[u8]>> {
    let count = usize::try_from(word(bytes)?).ok()?;
    let (first, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(first.into())
}

fn write_book<B: RuleState>(
    out: &mut Vec<u8>,
    kind: u64,
    entry: &Entry<B>,
    body: fn(&mut Vec<u8>, &B),
) {
    put(out, [kind, u64::from(entry.body().is_some())]);
    if let Some(state) = entry.body() {
        body(out, state);
    }
    put(out, [length(entry.reservations().len())]);
    for reservation in entry.reservations() {
        put_bytes(out, &reservation.handle);
        put(
            out,
            [
                reservation.at.as_micros(),
                reservation.estimate,
                reservation.least,
                reservation.until.as_micros(),
            ],
        );
    }
}

fn read_book<B: RuleState>(bytes: &mut &[u8], body: fn(&mut &[u8]) -> Option<B>) -> Option<State> {
    let state = if word(bytes)? == 0 { None } else { Some(body(bytes)?) };
    let mut reservations = Vec::new();
    for _ in 0..word(bytes)? {
        let handle = some_bytes(bytes)?;
        let [at, estimate, least, until] = words(bytes)?;
        reservations.push(Reservation {
            handle,
            at: Time::at(at),
            estimate,
            least,
            until: Time::at(until),
        });
    }
    let entry = Entry::with_reservations(state, reservations);
    (!entry.is_empty()).then(|| B::into_state(entry))
}

fn write_packed<R: Pack>(out: &mut Vec<u8>, body: &R::Body) {
    let (under, words) = R::pack(body);
    put(out, Terms(under).to_words());
    put(out, words);
}

fn read_packed<R: Pack>(bytes: &mut &[u8]) -> Option<R::Body> {
    let terms = Terms::from_words(words(bytes)?)?;
    let [a, b, c] = words(bytes)?;
    (b < LONGEST && c < LONGEST).then(|| R::unpack(terms.0, [a, b, c]))?
}

fn write_slots(out: &mut Vec<u8>, body: &slots::SlotsState) {
    put(out, [body.cut.width.as_micros(), body.cut.life.as_micros(), length(body.slots.len())]);
    put(out, body.slots.iter().flat_map(|slot| [slot.start.as_micros(), slot.count]));
}

fn read_slots(bytes: &mut &[u8]) -> Option<slots::SlotsState> {
    let [width, life, count] = words(bytes)?;
    let cut = Cut { width: Span::from_micros(width), life: Span::from_micros(life) };
    let mut slots = Vec::new();
    for _ in 0..count {
        let [start, count] = words(bytes)?;
        slots.push(Slot { start: Time::at(start), count });
    }
    let sorted = slots.is_sorted_by(|a, b| a.start < b.start);
    (sorted && !slots.is_empty()).then(|| slots::SlotsState::of(cut, slots))
}

fn write_leases(out: &mut Vec<u8>, body: &held::HeldState) {
    put(out, [length(body.0.len())]);
    for lease in &body.0 {
        put(out, [u64::from(lease.handle.is_some())]);
        put_bytes(out, lease.handle.as_deref().unwrap_or_default());
        put(out, [lease.count, lease.ends.as_micros()]);
    }
}

fn read_leases(bytes: &mut &[u8]) -> Option<held::HeldState> {
    let mut leases = Vec::new();
    for _ in 0..word(bytes)? {
        let named = word(bytes)? != 0;
        let handle = Some(some_bytes(bytes)?).filter(|_| named);
        let [count, ends] = words(bytes)?;
        leases.push(Lease { handle, count, ends: Time::at(ends) });
    }
    (!leases.is_empty()).then_some(held::HeldState(leases))
}
