//! What states are kept under in the store.
//!
//! `PREFIX:{hash}` for the states of one subject under one policy. Keys are chosen by strangers and may
//! hold anything, braces included, so they are hashed: nothing of them stands in the store, and all
//! keys are equally short. The braces say which part Redis Cluster goes by, so everything that is
//! kept for a subject lies on the same node.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use tollgate_core::{Id, Name, Op, Subject};

/// How many bytes of a hash are kept: no two keys of any store are ever taken for one.
const HASH_BYTES: usize = 16;

/// What all keys begin with.
#[derive(Debug, Clone)]
pub(crate) struct Prefix(String);

/// Whose ids: a policy and all subjects of an operation.
pub(crate) struct Scope {
    /// The key of its first subject: what belongs to it lies there too.
    base: Vec<u8>,
    /// Where there are several subjects, what tells them from others with the same first one.
    mark: String,
}

impl Prefix {
    pub(crate) fn new(prefix: &str) -> Prefix {
        Prefix(prefix.to_owned())
    }

    /// What all keys match, and no others.
    pub(crate) fn pattern(&self) -> String {
        let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '^' | '-' | '\\');
        let mut pattern = String::new();
        for c in self.0.chars() {
            if special(c) {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern + ":{*"
    }

    /// The key of the states of one subject under a policy.
    pub(crate) fn state(&self, policy: &Name, subject: Subject<'_>) -> Vec<u8> {
        let name = subject.name.map_or("", Name::as_str);
        let hash = hash([policy.as_str().as_bytes(), name.as_bytes(), subject.key.as_bytes()]);
        self.with_tag(&hash)
    }

    fn with_tag(&self, hash: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.0.len() + hash.len() + ":{}".len());
        for part in [&self.0, ":{", hash, "}"] {
            key.extend_from_slice(part.as_bytes());
        }
        key
    }

    /// The scope of an operation, for the place with these states.
    pub(crate) fn scope(&self, op: &Op<'_>, states: &[Vec<u8>]) -> Scope {
        let base = states.first().cloned();
        let base = base.unwrap_or_else(|| self.with_tag(&hash([op.policy.as_str().as_bytes()])));
        let first = op.items.first().map(|item| item.subject);
        if op.items.iter().all(|item| Some(item.subject) == first) {
            return Scope { base, mark: String::new() };
        }
        // All subjects of the operation, each once, though only some may be counted in this place.
        let mut all: Vec<Vec<u8>> = Vec::new();
        for item in op.items {
            let key = self.state(op.policy, item.subject);
            if !all.contains(&key) {
                all.push(key);
            }
        }
        Scope { base, mark: hash(all.iter().map(Vec::as_slice)) }
    }
}

impl Scope {
    /// The key of what was answered under an id.
    pub(crate) fn id(&self, id: Id<'_>) -> Vec<u8> {
        self.under('i', &hash([self.mark.as_bytes(), id.as_bytes()]))
    }

    /// The key that says which of them still count.
    pub(crate) fn generation(&self) -> Vec<u8> {
        self.under('g', &self.mark)
    }

    fn under(&self, what: char, mark: &str) -> Vec<u8> {
        let mut key = self.base.clone();
        key.extend_from_slice(format!(":{what}{mark}").as_bytes());
        key
    }
}

/// A short name for some parts: the same on every machine. Each part has its length before it, so that
/// no two lists of parts read alike.
fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    URL_SAFE_NO_PAD.encode(digest.get(..HASH_BYTES).unwrap_or(&digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::Key;

    fn state(policy: &str, name: Option<&str>, key: &[u8]) -> String {
        let name = name.map(|name| Name::new(name).unwrap());
        let subject = Subject { name: name.as_ref(), key: Key::new(key).unwrap() };
        let key = Prefix::new("tg").state(&Name::new(policy).unwrap(), subject);
        String::from_utf8(key).unwrap()
    }

    #[test]
    fn keys_are_short_and_told_apart() {
        let key = state("api", Some("ip"), b"203.0.113.9");
        assert_eq!(key.len(), "tg:{}".len() + 22);
        assert_ne!(key, state("api", None, b"ip203.0.113.9"));
        assert_ne!(key, state("apii", Some("p"), b"203.0.113.9"));
        assert!(!state("api", None, b"}{").contains("}{"));
    }

    #[test]
    fn a_key_is_the_same_on_every_machine_and_in_every_version() {
        assert_eq!(state("default", None, b"a"), "tg:{VDojgESuo1Lsu5VtnKaWjw}");
    }
}
