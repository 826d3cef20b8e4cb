//! Who is counted: keys, the names of subjects, and the ids of operations.

use std::fmt;

/// The most bytes a key may have.
pub const MAX_KEY_BYTES: usize = 1024;
/// The most bytes an id may have.
pub const MAX_ID_BYTES: usize = 64;
/// The most bytes the name of a policy or a subject may have.
pub const MAX_NAME_BYTES: usize = 64;

/// Text or bytes that cannot be a key, an id or a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidKey {
    what: &'static str,
    why: String,
}

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.what, self.why)
    }
}

impl std::error::Error for InvalidKey {}

#[inline]
fn sized(what: &'static str, bytes: &[u8], most: usize) -> Result<(), InvalidKey> {
    if (1..=most).contains(&bytes.len()) { Ok(()) } else { Err(wrong_size(what, bytes, most)) }
}

#[cold]
fn wrong_size(what: &'static str, bytes: &[u8], most: usize) -> InvalidKey {
    let why = match bytes.len() {
        0 => format!("is empty; expected 1 to {most} bytes"),
        n => format!("has {n} bytes; expected 1 to {most}"),
    };
    InvalidKey { what, why }
}

/// The key of a subject: any bytes, 1 to [`MAX_KEY_BYTES`] of them.
///
/// ```
/// use tollgate_core::Key;
///
/// assert_eq!(Key::new(b"203.0.113.9")?.as_bytes(), b"203.0.113.9");
/// assert_eq!(Key::new(b"").unwrap_err().to_string(), "key is empty; expected 1 to 1024 bytes");
/// # Ok::<(), tollgate_core::InvalidKey>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key<'a>(&'a [u8]);

impl<'a> Key<'a> {
    /// The key of everyone at once (`per all`).
    pub(crate) const EVERYONE: Key<'static> = Key(b"*");

    /// Takes the bytes as a key.
    ///
    /// # Errors
    /// If there are none, or too many.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Key<'a>, InvalidKey> {
        sized("key", bytes, MAX_KEY_BYTES).map(|()| Key(bytes))
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// The caller's name for one operation, reservation or lease: 1 to [`MAX_ID_BYTES`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id<'a>(&'a [u8]);

impl<'a> Id<'a> {
    /// Takes the bytes as an id.
    ///
    /// # Errors
    /// If there are none, or too many.
    pub fn new(bytes: &'a [u8]) -> Result<Id<'a>, InvalidKey> {
        sized("id", bytes, MAX_ID_BYTES).map(|()| Id(bytes))
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// The name of a policy or of a kind of subject: letters, digits, `-`, `_` and `.`.
///
/// Names reach headers, metrics and keys of a store, so they are kept to what is safe in all three.
///
/// ```
/// use tollgate_core::Name;
///
/// assert_eq!(Name::new("user-id")?.as_str(), "user-id");
/// assert!(Name::new("evil\r\nheader").is_err());
/// # Ok::<(), tollgate_core::InvalidKey>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    text: Box<str>,
    digest: u64,
}

impl Name {
    /// The policy of a check that names none.
    pub const DEFAULT: &'static str = "default";

    /// The name that stands for everyone in `per all`.
    pub(crate) const ALL: &'static str = "all";

    /// Takes the text as a name.
    ///
    /// # Errors
    /// If it is empty, too long, or has any other character.
    pub fn new(text: &str) -> Result<Name, InvalidKey> {
        sized("name", text.as_bytes(), MAX_NAME_BYTES)?;
        let odd = |c: &char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        match text.chars().find(odd) {
            Some(c) => {
                let why = format!("{text:?} has {c:?}; expected letters, digits, '-', '_' or '.'");
                Err(InvalidKey { what: "name", why })
            }
            None => Ok(Name::of(text)),
        }
    }

    fn of(text: &str) -> Name {
        Name { text: text.into(), digest: digest(text) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// A number that stands for the text: the same on every machine and in every version, so that
    /// what is kept under it can be found again. Not for names that strangers choose.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.digest
    }
}

/// FNV-1a.
fn digest(text: &str) -> u64 {
    let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

impl Default for Name {
    /// The policy of a check that names none.
    fn default() -> Name {
        Name::of(Name::DEFAULT)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Who is counted by one limit: a kind and a key, `user=42`; or a key alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject<'a> {
    /// What kind of subject it is; `None` where one kind is enough.
    pub kind: Option<&'a Name>,
    /// Which one.
    pub key: Key<'a>,
}

impl Subject<'_> {
    /// Appends it to the name of something kept for it. No two subjects read alike.
    pub(crate) fn write_to(self, name: &mut Vec<u8>) {
        write_part(name, self.kind.map_or("", Name::as_str).as_bytes());
        write_part(name, self.key.as_bytes());
    }
}

/// Appends a part with its length before it, so that no two lists of parts read alike.
pub(crate) fn write_part(name: &mut Vec<u8>, part: &[u8]) {
    let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
    name.extend_from_slice(&length.to_le_bytes());
    name.extend_from_slice(part);
}

impl<'a> From<Key<'a>> for Subject<'a> {
    fn from(key: Key<'a>) -> Subject<'a> {
        Subject { kind: None, key }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bounded() {
        assert!(Key::new(b"").is_err());
        assert!(Key::new(&[0; MAX_KEY_BYTES]).is_ok());
        assert!(Key::new(&[0; MAX_KEY_BYTES + 1]).is_err());
        assert!(Id::new(&[0; MAX_ID_BYTES]).is_ok());
        assert!(Id::new(&[0; MAX_ID_BYTES + 1]).is_err());
    }

    #[test]
    fn names_carry_nothing_that_could_be_injected() {
        for bad in ["", "a b", "a\r\nb", "a\"b", "ä", "a/b", "a:b", "{a}"] {
            assert!(Name::new(bad).is_err(), "{bad:?}");
        }
        assert_eq!(Name::new("user-id_2.x").unwrap().as_str(), "user-id_2.x");
    }
}
