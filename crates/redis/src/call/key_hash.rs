//! The hash of everything that clients choose: only hashes of it are stored.

use std::fmt;
use std::hash::Hasher;

use sha2::{Digest, Sha256};
use tollgate_core::Op;
use tollgate_core::storage::{Handle, OpStorage as _};

use crate::format::HASH_BYTES;

/// Number of bytes that SHA-256 takes at once.
const BLOCK_BYTES: usize = 64;

/// SHA-256, cut to 16 bytes, and keyed if there is a secret: without it a key can be found by hashing all
/// keys that are likely.
#[derive(Clone, Default)]
pub(crate) struct KeyHash {
    /// The hash after the secret.
    begun: Sha256,
}

impl fmt::Debug for KeyHash {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHash").finish_non_exhaustive()
    }
}

impl KeyHash {
    /// Creates a hash with a secret of any length.
    pub(crate) fn keyed(secret: &[u8]) -> KeyHash {
        let mut block = [0; BLOCK_BYTES];
        for (byte, from) in block.iter_mut().zip(Sha256::digest(secret)) {
            *byte = from;
        }
        // A whole block, so that it is hashed once and not with every key.
        KeyHash { begun: Sha256::new_with_prefix(block) }
    }

    /// Returns the hash of a list of parts, the same on every machine. Each part is hashed with its length,
    /// so that no two lists are hashed alike.
    pub(super) fn parts<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; HASH_BYTES] {
        let mut hasher = Sha256Hasher(self.begun.clone());
        for part in parts {
            hasher.write(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.write(part);
        }
        hasher.cut()
    }

    /// Returns what the leases and reservations of an operation's id are found by.
    pub(crate) fn handle(&self, op: &Op<'_>) -> Option<Handle> {
        op.id?;
        let mut hasher = Sha256Hasher(self.begun.clone());
        op.hash_handle(&mut hasher);
        Some(Handle(hasher.cut()))
    }
}

/// SHA-256 as a hasher of the standard library.
struct Sha256Hasher(Sha256);

impl Sha256Hasher {
    /// Returns the first bytes of the hash.
    fn cut<const N: usize>(self) -> [u8; N] {
        let mut cut = [0; N];
        for (byte, from) in cut.iter_mut().zip(self.0.finalize()) {
            *byte = from;
        }
        cut
    }
}

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        u64::from_le_bytes(Sha256Hasher(self.0.clone()).cut())
    }
}
