//! Subjects (a name and a key), and the ids of operations.

use std::fmt;

/// Maximum length of a key in bytes.
pub const MAX_KEY_BYTES: usize = 1024;
/// Maximum length of an id in bytes.
pub const MAX_ID_BYTES: usize = 64;
/// Maximum length of the name of a policy or subject in bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// The error for text or bytes that are not a valid [`Key`], [`Id`] or [`Name`].
///
/// Its message says which of the three it is about, what is wrong, and what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidKey {
    /// `key`, `id` or `name`.
    field: &'static str,
    reason: String,
}

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.reason)
    }
}

impl std::error::Error for InvalidKey {}

#[inline]
fn check_size(field: &'static str, bytes: &[u8], max: usize) -> Result<(), InvalidKey> {
    if (1..=max).contains(&bytes.len()) { Ok(()) } else { Err(wrong_size(field, bytes, max)) }
}

#[cold]
fn wrong_size(field: &'static str, bytes: &[u8], max: usize) -> InvalidKey {
    let reason = match bytes.len() {
        0 => format!("is empty; expected 1 to {max} bytes"),
        n => format!("has {n} bytes; expected 1 to {max}"),
    };
    InvalidKey { field, reason }
}

/// The key of a subject: 1 to [`MAX_KEY_BYTES`] bytes, with any content.
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
    /// The one key that `per all` counts.
    pub(crate) const ALL: Key<'static> = Key(b"*");

    /// Creates a key from bytes.
    ///
    /// # Errors
    /// Fails if the bytes are empty or longer than [`MAX_KEY_BYTES`].
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Key<'a>, InvalidKey> {
        check_size("key", bytes, MAX_KEY_BYTES).map(|()| Key(bytes))
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// The caller's id for one operation, reservation or lease: 1 to [`MAX_ID_BYTES`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id<'a>(&'a [u8]);

impl<'a> Id<'a> {
    /// Creates an id from bytes.
    ///
    /// # Errors
    /// Fails if the bytes are empty or longer than [`MAX_ID_BYTES`].
    pub fn new(bytes: &'a [u8]) -> Result<Id<'a>, InvalidKey> {
        check_size("id", bytes, MAX_ID_BYTES).map(|()| Id(bytes))
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// The name of a policy or of a subject: ASCII letters, digits, `-`, `_` and `.`.
///
/// Names appear in headers, metrics and keys of a store, so only characters that are safe in all
/// three are accepted.
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
    /// The name of the policy used by a check that names none.
    pub const DEFAULT: &'static str = "default";

    /// The generation of a policy that does not set one.
    pub const FIRST_GENERATION: u32 = 1;

    /// The subject of `per all`, which counts all keys together.
    pub(crate) const ALL: &'static str = "all";

    /// Creates a name from text.
    ///
    /// # Errors
    /// Fails if the text is empty, longer than [`MAX_NAME_BYTES`], or contains any other character.
    pub fn new(text: &str) -> Result<Name, InvalidKey> {
        check_size("name", text.as_bytes(), MAX_NAME_BYTES)?;
        let invalid = |c: &char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        match text.chars().find(invalid) {
            Some(c) => {
                let reason =
                    format!("{text:?} contains {c:?}; expected letters, digits, '-', '_' or '.'");
                Err(InvalidKey { field: "name", reason })
            }
            None => Ok(Name::of(text)),
        }
    }

    fn of(text: &str) -> Name {
        Name { text: text.into(), digest: digest(text) }
    }

    /// Returns a name that no policy has, for what is not to touch the state of any.
    ///
    /// ```
    /// use tollgate_core::Name;
    ///
    /// assert!(Name::new(Name::reserved("probe").as_str()).is_err());
    /// ```
    #[must_use]
    pub fn reserved(text: &str) -> Name {
        // It begins with a character that a name cannot have.
        Name::of(&format!("#{text}"))
    }

    /// Returns the name that the state of a policy is kept under in one of its generations. It is the name
    /// itself in the [first](Name::FIRST_GENERATION), and otherwise one that no policy has.
    ///
    /// ```
    /// use tollgate_core::Name;
    ///
    /// let api = Name::new("api")?;
    /// assert_eq!(api.of_generation(Name::FIRST_GENERATION), api);
    /// assert_ne!(api.of_generation(2), api.of_generation(3));
    /// # Ok::<(), tollgate_core::InvalidKey>(())
    /// ```
    #[must_use]
    pub fn of_generation(&self, generation: u32) -> Name {
        match generation {
            Name::FIRST_GENERATION => self.clone(),
            // A character that a name cannot have.
            _ => Name::of(&format!("{self}#{generation}")),
        }
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns a hash of the text that is the same on every machine and in every version, so that
    /// state stored under it can be found again. It is not safe for names chosen by an attacker.
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
    /// Returns [`Name::DEFAULT`] as a name.
    fn default() -> Name {
        Name::of(Name::DEFAULT)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What one limit counts: a name and a key, such as `user=42`, or a key alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject<'a> {
    /// The name, such as `user`; `None` for the nameless key.
    pub name: Option<&'a Name>,
    /// The key, such as `42`.
    pub key: Key<'a>,
}

impl Subject<'_> {
    /// Appends the name and the key. Different subjects give different bytes.
    pub(crate) fn write_to(self, out: &mut Vec<u8>) {
        write_field(out, self.name.map_or("", Name::as_str).as_bytes());
        write_field(out, self.key.as_bytes());
    }
}

/// Appends a field preceded by its length, so that different lists of fields give different bytes.
pub(crate) fn write_field(out: &mut Vec<u8>, field: &[u8]) {
    let length = u32::try_from(field.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(field);
}

impl<'a> From<Key<'a>> for Subject<'a> {
    fn from(key: Key<'a>) -> Subject<'a> {
        Subject { name: None, key }
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
    fn names_cannot_inject_control_characters_or_separators() {
        for bad in ["", "a b", "a\r\nb", "a\"b", "ä", "a/b", "a:b", "{a}"] {
            assert!(Name::new(bad).is_err(), "{bad:?}");
        }
        assert_eq!(Name::new("user-id_2.x").unwrap().as_str(), "user-id_2.x");
    }
}
