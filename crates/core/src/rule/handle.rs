//! What leases and reservations are found by.

/// Number of bytes of a handle: enough that no two ids of a key ever share one.
const BYTES: usize = 16;

/// A hash of an id and the subjects it belongs to, by which a lease or a reservation is found.
///
/// States keep only this, whatever the client chose as its id and keys: it takes the same memory for
/// all of them and gives none of them away. The store chooses the hash, since it knows what it has to
/// withstand; [`OpStorage::hash_handle`](crate::storage::OpStorage::hash_handle) says what is hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Handle(pub [u8; BYTES]);

impl Handle {
    /// Creates a handle from the two words of a hash.
    #[inline]
    #[must_use]
    pub fn from_words([first, second]: [u64; 2]) -> Handle {
        Handle((u128::from(second) << u64::BITS | u128::from(first)).to_le_bytes())
    }

    /// Returns the two words.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    pub fn to_words(self) -> [u64; 2] {
        let both = u128::from_le_bytes(self.0);
        [both as u64, (both >> u64::BITS) as u64]
    }
}
