//! The names of keys in the store.
//!
//! `PREFIX:{hash}` is the key of the states of one subject under one policy. Clients choose the keys of
//! subjects, which may hold any bytes, braces included. So they are hashed: they do not appear in the
//! store, and all names are equally short. Redis Cluster hashes the part in braces only, so that
//! everything that is kept for a subject lies on the same node.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tollgate_core::{Id, Name, Op, Subject};

use super::key_hash::KeyHash;
use crate::format::{HASH_BYTES, VERSION};

/// How all keys are named: their prefix, and the hash of what follows it.
#[derive(Debug, Clone)]
pub(crate) struct Prefix {
    text: String,
    pub(crate) hash: KeyHash,
}

/// What an id belongs to: a policy and all subjects of an operation.
pub(crate) struct Scope<'a> {
    hash: &'a KeyHash,
    /// The key of the first subject, with which the keys of the scope share a slot.
    base: Vec<u8>,
    /// The hash of all subjects, if there are several: it tells them from others with the same first one.
    subjects: String,
}

impl Prefix {
    pub(crate) fn new(prefix: &str, hash: KeyHash) -> Prefix {
        Prefix { text: prefix.to_owned(), hash }
    }

    /// Returns a glob pattern that matches all keys of this prefix and no others.
    pub(crate) fn pattern(&self) -> String {
        let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '^' | '-' | '\\');
        let mut pattern = String::new();
        for c in self.text.chars() {
            if special(c) {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern + ":{*"
    }

    /// Returns the key of the states of one subject under a policy.
    pub(crate) fn state(&self, policy: &Name, subject: Subject<'_>) -> Vec<u8> {
        let name = subject.name.map_or("", Name::as_str);
        let policy = policy.as_str().as_bytes();
        let hash = self.hash.parts([&[VERSION], policy, name.as_bytes(), subject.key.as_bytes()]);
        self.with_tag(&encode(hash))
    }

    fn with_tag(&self, hash: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.text.len() + hash.len() + ":{}".len());
        for part in [&self.text, ":{", hash, "}"] {
            key.extend_from_slice(part.as_bytes());
        }
        key
    }

    /// Returns the scope of an operation, in the slot with these state keys.
    pub(crate) fn scope(&self, op: &Op<'_>, states: &[Vec<u8>]) -> Scope<'_> {
        let hash = &self.hash;
        let of_policy = || encode(hash.parts([&[VERSION], op.policy.as_str().as_bytes()]));
        let base = states.first().cloned().unwrap_or_else(|| self.with_tag(&of_policy()));
        let first = op.items.first().map(|item| item.subject);
        if op.items.iter().all(|item| Some(item.subject) == first) {
            return Scope { hash, base, subjects: String::new() };
        }
        // All subjects of the operation, each once, although only some may be counted in this slot.
        let mut all: Vec<Vec<u8>> = Vec::new();
        for item in op.items {
            let key = self.state(op.policy, item.subject);
            if !all.contains(&key) {
                all.push(key);
            }
        }
        Scope { hash, base, subjects: encode(hash.parts(all.iter().map(Vec::as_slice))) }
    }
}

impl Scope<'_> {
    /// Returns the key of the replies kept under an id.
    pub(crate) fn id(&self, id: Id<'_>) -> Vec<u8> {
        let hash = self.hash.parts([self.subjects.as_bytes(), id.as_bytes()]);
        self.with_suffix('i', &encode(hash))
    }

    /// Returns the key of the generation: only replies of the current one are valid.
    pub(crate) fn generation(&self) -> Vec<u8> {
        self.with_suffix('g', &self.subjects)
    }

    fn with_suffix(&self, what: char, name: &str) -> Vec<u8> {
        let mut key = self.base.clone();
        key.extend_from_slice(format!(":{what}{name}").as_bytes());
        key
    }
}

/// Returns a hash as text that may stand in a key.
fn encode(hash: [u8; HASH_BYTES]) -> String {
    URL_SAFE_NO_PAD.encode(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::Key;

    fn state(policy: &str, name: Option<&str>, key: &[u8]) -> String {
        let name = name.map(|name| Name::new(name).unwrap());
        let subject = Subject { name: name.as_ref(), key: Key::new(key).unwrap() };
        let key = Prefix::new("tg", KeyHash::default()).state(&Name::new(policy).unwrap(), subject);
        String::from_utf8(key).unwrap()
    }

    #[test]
    fn keys_are_short_and_distinct() {
        let key = state("api", Some("ip"), b"203.0.113.9");
        assert_eq!(key.len(), "tg:{}".len() + 22);
        assert_ne!(key, state("api", None, b"ip203.0.113.9"));
        assert_ne!(key, state("apii", Some("p"), b"203.0.113.9"));
        assert!(!state("api", None, b"}{").contains("}{"));
    }

    #[test]
    fn key_changes_with_the_format_only() {
        assert_eq!(VERSION, 4);
        assert_eq!(state("default", None, b"a"), "tg:{IYpQzwX7st1UATs9BPrekg}");
    }

    #[test]
    fn key_depends_on_the_secret() {
        let subject = Subject::from(Key::new(b"a").unwrap());
        let state = |hash| Prefix::new("tg", hash).state(&Name::default(), subject);
        let [one, other] = [b"one", b"two"].map(|secret: &[u8; 3]| KeyHash::keyed(secret));
        assert_ne!(state(one.clone()), state(other));
        assert_ne!(state(one.clone()), state(KeyHash::default()));
        assert_eq!(state(one.clone()), state(one));
    }
}
