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
    #[must_use]
    pub fn from_words(words: [u64; 2]) -> Handle {
        let [first, second] = words.map(u64::to_le_bytes);
        let mut bytes = [0; BYTES];
        for (byte, from) in bytes.iter_mut().zip(first.into_iter().chain(second)) {
            *byte = from;
        }
        Handle(bytes)
    }

    /// Returns the two words.
    #[must_use]
    pub fn to_words(self) -> [u64; 2] {
        let word = |bytes: &[u8]| {
            bytes.iter().rev().fold(0, |word: u64, byte| word << 8 | u64::from(*byte))
        };
        let (first, second) = self.0.split_at(BYTES / 2);
        [word(first), word(second)]
    }
}
