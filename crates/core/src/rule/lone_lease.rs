//! The state of a key with one lease and nothing else, in four words: most keys that hold a lease hold one.

use super::counting::MAX_COUNT;
use super::entry::Entry;
use super::handle::Handle;
use super::held::{HeldState, Lease};
use super::packed::Packed;
use super::state::{AnyEntry, RuleState, State};
use crate::time::Time;

impl State {
    /// Returns the state in four words if it is one lease and nothing else. The third and the fourth are below
    /// [2^53](Packed::WORD_BITS), so that a store can use the bits above.
    #[must_use]
    pub fn lone_lease(&self) -> Option<[u64; 4]> {
        let AnyEntry::Held(entry) = &self.0 else { return None };
        let lease = entry.state_alone()?.lone()?;
        let (ends, count) = (lease.ends.as_micros(), lease.count);
        if ends >> Packed::WORD_BITS != 0 || count > MAX_COUNT {
            return None;
        }
        let [first, second] = lease.handle.unwrap_or_default().to_words();
        Some([first, second, ends, count << 1 | u64::from(lease.handle.is_some())])
    }

    /// Returns whether it is of leases.
    #[must_use]
    pub fn is_of_leases(&self) -> bool {
        matches!(self.0, AnyEntry::Held(_))
    }

    /// Creates a state from the words of [`lone_lease`](State::lone_lease).
    #[must_use]
    pub fn of_lone_lease([first, second, ends, count_and_has_handle]: [u64; 4]) -> State {
        let has_handle = count_and_has_handle & 1 != 0;
        let lease = Lease {
            handle: has_handle.then(|| Handle::from_words([first, second])),
            count: count_and_has_handle >> 1,
            ends: Time::at(ends),
        };
        HeldState::into_state(Entry::new(Some(HeldState::of_one(lease)), Vec::new()))
    }

    /// Returns whether a lease in four words counts at the instant `past`: whether the state
    /// [expires](State::expires) later.
    #[inline]
    #[must_use]
    pub fn lone_lease_lasts([_, _, ends, _]: [u64; 4], past: Time) -> bool {
        past < Time::at(ends)
    }
}
