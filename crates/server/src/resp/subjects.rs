//! Whom a command is about: a key, or where limits count named subjects, `ip=203.0.113.9 user=42`.
//!
//! Each in a word of its own, or all in one. In words of their own, keys with a name may hold anything:
//! nobody who chooses one of them can choose another with it. CandidateOperation them a key without a name cannot be
//! all that a key can: where it looks like one of the others, it is refused.

use tollgate_core::{Key, Name};

use crate::engine::keys::Keys;
use crate::error::told;
use crate::policy::required_keys::RequiredKeys;

/// The keys that these words give; `None` if there are too many of them, or none.
///
/// # Errors
/// If one of them is no key, or no key of this policy.
pub(super) fn read<'a>(
    required: &'a RequiredKeys,
    words: &[&'a [u8]],
) -> Result<Option<Keys<'a>>, String> {
    match words {
        // Nobody is counted by name: whoever it is about.
        [] | [_] if required.is_empty() => Ok(Some(Keys::Named(Box::default()))),
        [key] if required.named.is_empty() => Ok(Some(Keys::One(as_key(key)?))),
        [] => Ok(None),
        _ if required.named.is_empty() => Ok(None),
        [all] => required.read(required.split(all)).map(Some),
        each => required.read(each.iter().copied()).map(Some),
    }
}

fn as_key(bytes: &[u8]) -> Result<Key<'_>, String> {
    Key::new(bytes).map_err(|unfit| unfit.to_string())
}

impl RequiredKeys {
    fn read<'a>(&'a self, parts: impl Iterator<Item = &'a [u8]>) -> Result<Keys<'a>, String> {
        let mut keys: Vec<(&'a str, Key<'a>)> = Vec::new();
        for part in parts {
            let (kind, key) = self.key(part)?;
            if keys.iter().any(|(known, _)| *known == kind) {
                return Err(match kind {
                    "" => self.no_key(part),
                    kind => format!("'{kind}=' is given twice"),
                });
            }
            keys.push((kind, key));
        }
        Ok(Keys::Named(keys.into_boxed_slice()))
    }

    /// One key with its kind; the nameless one goes by the empty name.
    fn key<'a>(&'a self, part: &'a [u8]) -> Result<(&'a str, Key<'a>), String> {
        match self.name_at(part) {
            Some((kind, key)) => {
                as_key(key).map(|key| (kind, key)).map_err(|unfit| format!("{kind}: {unfit}"))
            }
            None if self.nameless => as_key(part).map(|key| ("", key)),
            None => Err(self.no_key(part)),
        }
    }

    fn no_key(&self, part: &[u8]) -> String {
        let required: Vec<_> = self.named.iter().map(Name::as_str).collect();
        let required = required.join("=…, ");
        format!("'{}' is no key of this policy: expected {required}=…", told(part))
    }

    /// The kind whose `name=` stands at the start, and what follows.
    fn name_at<'a>(&'a self, word: &'a [u8]) -> Option<(&'a str, &'a [u8])> {
        self.named
            .iter()
            .map(Name::as_str)
            .find_map(|kind| Some((kind, word.strip_prefix(kind.as_bytes())?.strip_prefix(b"=")?)))
    }

    /// The parts of a word: wherever a blank is followed by a `name=`, another begins.
    fn split<'a>(&'a self, word: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = Some(word);
        std::iter::from_fn(move || {
            let part = rest?;
            let begins = |at: &usize| {
                part.get(*at) == Some(&b' ')
                    && part.get(at + 1..).is_some_and(|next| self.name_at(next).is_some())
            };
            match (0..part.len()).find(begins) {
                Some(end) => {
                    rest = part.get(end + 1..);
                    part.get(..end)
                }
                None => rest.take(),
            }
        })
    }
}
