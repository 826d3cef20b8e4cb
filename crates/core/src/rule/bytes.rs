//! States as bytes, for stores that outlive their process.
//!
//! All numbers are little-endian. Reading trusts nothing: bytes that are not a state give `None`,
//! and no more is allocated than there are bytes.

use super::drip::Drip;
use super::entry::Entry;
use super::estimate::Estimate;
use super::fade::Fade;
use super::flow::Flow;
use super::handle::Handle;
use super::held::{HeldState, Lease};
use super::pack::Pack;
use super::packed::Packed;
use super::reservation::Reservation;
use super::slots::{Slot, SlotTiming, SlotsState};
use super::state::{AnyEntry, RuleState, State};
use super::terms::{RuleTerms, Terms};
use super::window::Window;
use crate::time::{Span, Time};

impl State {
    /// Appends the state to `out`.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match &self.0 {
            AnyEntry::Flow(entry) => write_entry(out, 0, entry, write_packed::<Flow>),
            AnyEntry::Drip(entry) => write_entry(out, 1, entry, write_packed::<Drip>),
            AnyEntry::Window(entry) => write_entry(out, 2, entry, write_packed::<Window>),
            AnyEntry::Estimate(entry) => write_entry(out, 3, entry, write_packed::<Estimate>),
            AnyEntry::Fade(entry) => write_entry(out, 4, entry, write_packed::<Fade>),
            AnyEntry::Slots(entry) => write_entry(out, 5, entry, write_slots),
            AnyEntry::Held(entry) => write_entry(out, 6, entry, write_leases),
        }
    }

    /// Reads a state from the front of `bytes` and advances them; `None` if they are not a state.
    #[must_use]
    pub fn read_from(bytes: &mut &[u8]) -> Option<State> {
        match u8::try_from(word(bytes)?).ok()? {
            0 => read_entry(bytes, read_packed::<Flow>),
            1 => read_entry(bytes, read_packed::<Drip>),
            2 => read_entry(bytes, read_packed::<Window>),
            3 => read_entry(bytes, read_packed::<Estimate>),
            4 => read_entry(bytes, read_packed::<Fade>),
            5 => read_entry(bytes, read_slots),
            6 => read_entry(bytes, read_leases),
            _ => None,
        }
    }
}

/// All instants and counts of a state are below this.
const WORD_END: u64 = 1 << Packed::WORD_BITS;

fn put(out: &mut Vec<u8>, words: impl IntoIterator<Item = u64>) {
    for word in words {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

fn length(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

fn word(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*first))
}

fn words<const N: usize>(bytes: &mut &[u8]) -> Option<[u64; N]> {
    let mut words = [0; N];
    for slot in &mut words {
        *slot = word(bytes)?;
    }
    Some(words)
}

fn read_handle(bytes: &mut &[u8]) -> Option<Handle> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(Handle(*first))
}

fn write_entry<S>(
    out: &mut Vec<u8>,
    tag: u64,
    entry: &Entry<S>,
    write_state: fn(&mut Vec<u8>, &S),
) {
    put(out, [tag, u64::from(entry.state().is_some())]);
    if let Some(state) = entry.state() {
        write_state(out, state);
    }
    put(out, [length(entry.reservations().len())]);
    for reservation in entry.reservations() {
        out.extend_from_slice(&reservation.handle.0);
        put(
            out,
            [
                reservation.at.as_micros(),
                reservation.estimate,
                reservation.max_refund,
                reservation.expires.as_micros(),
            ],
        );
    }
}

fn read_entry<S: RuleState>(
    bytes: &mut &[u8],
    read_state: fn(&mut &[u8]) -> Option<S>,
) -> Option<State> {
    let state = if word(bytes)? == 0 { None } else { Some(read_state(bytes)?) };
    let mut reservations = Vec::new();
    for _ in 0..word(bytes)? {
        let handle = read_handle(bytes)?;
        let [at, estimate, max_refund, expires] = words(bytes)?;
        reservations.push(Reservation {
            handle,
            at: Time::at(at),
            estimate,
            max_refund,
            expires: Time::at(expires),
        });
    }
    let entry = Entry::new(state, reservations);
    (!entry.is_empty()).then(|| S::into_state(entry))
}

fn write_packed<R: Pack>(out: &mut Vec<u8>, state: &R::State)
where
    R::Terms: Into<RuleTerms>,
{
    let (terms, words) = R::pack(state);
    put(out, Terms(terms.into()).to_words());
    put(out, words);
}

fn read_packed<R: Pack>(bytes: &mut &[u8]) -> Option<R::State>
where
    R::Terms: TryFrom<RuleTerms>,
{
    let terms = Terms::from_words(words(bytes)?)?;
    let [a, b, c] = words(bytes)?;
    (b < WORD_END && c < WORD_END).then(|| R::unpack(terms.0.try_into().ok()?, [a, b, c]))?
}

fn write_slots(out: &mut Vec<u8>, state: &SlotsState) {
    put(
        out,
        [state.timing.width.as_micros(), state.timing.life.as_micros(), length(state.slots.len())],
    );
    put(out, state.slots.iter().flat_map(|slot| [slot.start.as_micros(), slot.count]));
}

fn read_slots(bytes: &mut &[u8]) -> Option<SlotsState> {
    let [width, life, count] = words(bytes)?;
    let timing = SlotTiming { width: Span::from_micros(width), life: Span::from_micros(life) };
    let mut slots = Vec::new();
    for _ in 0..count {
        let [start, count] = words(bytes)?;
        slots.push(Slot { start: Time::at(start), count });
    }
    let sorted = slots.is_sorted_by(|a, b| a.start < b.start);
    (sorted && !slots.is_empty()).then(|| SlotsState::of(timing, slots))
}

fn write_leases(out: &mut Vec<u8>, state: &HeldState) {
    put(out, [length(state.leases().len())]);
    for lease in state.leases().iter() {
        put(out, [u64::from(lease.handle.is_some())]);
        out.extend_from_slice(&lease.handle.unwrap_or_default().0);
        put(out, [lease.count, lease.ends.as_micros()]);
    }
}

fn read_leases(bytes: &mut &[u8]) -> Option<HeldState> {
    let mut leases = Vec::new();
    for _ in 0..word(bytes)? {
        let has_handle = word(bytes)? != 0;
        let handle = Some(read_handle(bytes)?).filter(|_| has_handle);
        let [count, ends] = words(bytes)?;
        leases.push(Lease { handle, count, ends: Time::at(ends) });
    }
    HeldState::of(leases)
}
