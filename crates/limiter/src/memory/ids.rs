//! Answers that were given under ids, in parts, so that callers seldom wait for each other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tollgate_core::{Remembered, Span, Time};

use super::hash::{Hash, place_in};

/// In how many parts they are kept: a power of two.
const PARTS: usize = 64;
/// As few answers as this are not worth sweeping.
const FEW: usize = 256;
/// A part that is full is swept at most this often.
const PAUSE: Span = Span::from_micros(1_000_000);

pub(super) struct Ids {
    parts: Box<[Mutex<Part>]>,
    /// How many answers each part may hold.
    most: usize,
}

#[derive(Default)]
pub(super) struct Part {
    pub(super) remembered: Remembered,
    sweep_at: usize,
    swept: Option<Time>,
}

impl Ids {
    /// As many answers as there may be keys.
    pub(super) fn new(most: usize) -> Ids {
        let parts = (0..PARTS).map(|_| Mutex::default()).collect();
        Ids { parts, most: most.div_ceil(PARTS).max(FEW) }
    }

    /// The part with the ids of operations whose first subject this is, and whether it has room for
    /// one more.
    pub(super) fn part(
        &self,
        first: Option<Hash>,
        now: Time,
    ) -> Option<(MutexGuard<'_, Part>, bool)> {
        let place = first.map_or(0, |hash| place_in(PARTS, hash.mark));
        // It is never left half changed, so a panic elsewhere is no reason to stop.
        let mut part = self.parts.get(place)?.lock().unwrap_or_else(PoisonError::into_inner);
        let room = part.make_room(self.most, now);
        Some((part, room))
    }
}

impl Part {
    fn make_room(&mut self, most: usize, now: Time) -> bool {
        let crowded = self.remembered.len() >= self.sweep_at.max(FEW).min(most);
        let rested = self.swept.is_none_or(|swept| now.since(swept) >= PAUSE || now < swept);
        if crowded && rested {
            self.remembered.sweep(now);
            self.sweep_at = self.remembered.len().saturating_mul(2);
            self.swept = Some(now);
        }
        self.remembered.len() < most
    }
}
