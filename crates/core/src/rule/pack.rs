//! What a rule implements whose state fits in three words.

use super::counting::Counting;
use crate::time::Time;

/// The words of a state. The second and the third are below 2^53, so that a store can use the bits
/// above.
pub(super) type Words = [u64; 3];

/// A rule whose states fit in three words, all or some of them, next to the terms they were written under.
pub(super) trait Pack: Counting {
    /// The numbers of a limit that a state is written under.
    type Terms: Copy + PartialEq;

    /// Returns the terms that this limit writes its states under.
    fn terms(&self) -> Self::Terms;

    /// Returns whether a state fits in the words.
    #[inline(always)]
    fn is_small(_: &Self::State) -> bool {
        true
    }

    /// Splits a state that [fits](Pack::is_small) into its terms and words.
    fn pack(state: &Self::State) -> (Self::Terms, Words);

    /// Joins terms and words to a state; `None` if the words are invalid.
    fn unpack(terms: Self::Terms, words: Words) -> Option<Self::State>;

    /// Returns what is left of `room` after `cost` was taken from it, which gave this state.
    #[inline(always)]
    fn room_left(&self, room: u64, cost: u64, _: &Self::State, _: Time) -> Option<u64> {
        room.checked_sub(cost)
    }
}
