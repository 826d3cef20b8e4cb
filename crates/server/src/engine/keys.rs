//! The keys of one operation.

use tollgate_core::Key;

use crate::policy::required_keys::RequiredKeys;

/// The keys that a client gave.
#[derive(Debug)]
pub(crate) enum Keys<'a> {
    /// The nameless key.
    One(Key<'a>),
    /// Keys by the name of their subject; that of the nameless subject is "".
    Named(Box<[(&'a str, Key<'a>)]>),
}

impl<'a> Keys<'a> {
    /// Returns the key of a subject; `None` asks for the nameless one.
    pub(crate) fn of(&self, subject: Option<&str>) -> Option<Key<'a>> {
        match (self, subject) {
            (Keys::One(key), None) => Some(*key),
            (Keys::One(_), Some(_)) => None,
            (Keys::Named(keys), subject) => {
                let subject = subject.unwrap_or("");
                keys.iter().find(|(name, _)| *name == subject).map(|(_, key)| *key)
            }
        }
    }

    /// Joins the keys that are counted, to choose a percentage of clients by. They are in the order of their
    /// names, whatever order the limits and the request have them in.
    pub(super) fn joined(&self, required: &RequiredKeys) -> Vec<u8> {
        let mut named: Vec<_> = required.named.iter().map(|name| Some(name.as_str())).collect();
        named.sort_unstable();
        let counted = named.into_iter().chain(required.nameless.then_some(None));
        let keys: Vec<&[u8]> =
            counted.filter_map(|subject| self.of(subject)).map(Key::as_bytes).collect();
        keys.join(&0)
    }
}
