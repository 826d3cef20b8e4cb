//! The keys of a request.

use smallvec::SmallVec;

/// The keys of a request, borrowed.
#[derive(Debug, Clone)]
pub(crate) enum Keys<'a> {
    /// The nameless key.
    One(&'a [u8]),
    /// A key for each kind of subject. The kind of the nameless key is "".
    Named(SmallVec<[(&'a str, &'a [u8]); 4]>),
}

/// The keys of a request, owned.
#[derive(Debug)]
pub(crate) enum OwnedKeys {
    One(Vec<u8>),
    Named(Vec<(String, Vec<u8>)>),
}

impl<'a> Keys<'a> {
    /// Returns the key of a kind of subject.
    pub(crate) fn get(&self, kind: Option<&str>) -> Option<&'a [u8]> {
        match (self, kind) {
            (Keys::One(key), None) => Some(key),
            (Keys::One(_), Some(_)) => None,
            (Keys::Named(keys), kind) => {
                let kind = kind.unwrap_or("");
                keys.iter().find(|(name, _)| *name == kind).map(|(_, key)| *key)
            }
        }
    }

    pub(crate) fn to_owned_keys(&self) -> OwnedKeys {
        match self {
            Keys::One(key) => OwnedKeys::One(key.to_vec()),
            Keys::Named(keys) => {
                let owned = |(kind, key): &(&str, &[u8])| (String::from(*kind), key.to_vec());
                OwnedKeys::Named(keys.iter().map(owned).collect())
            }
        }
    }
}

impl OwnedKeys {
    pub(crate) fn as_keys(&self) -> Keys<'_> {
        match self {
            OwnedKeys::One(key) => Keys::One(key),
            OwnedKeys::Named(keys) => Keys::Named(
                keys.iter().map(|(kind, key)| (kind.as_str(), key.as_slice())).collect(),
            ),
        }
    }
}
