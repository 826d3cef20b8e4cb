//! The keys of a command: one key, or where limits count named subjects, `ip=203.0.113.9 user=42`.
//!
//! Each key is an argument of its own, or all are in one argument. As arguments of their own, named keys may
//! contain anything: a client that chooses one of them cannot choose another with it. Next to named keys the
//! nameless key cannot be any bytes: if it looks like a named key that is already there, it is rejected.

use tollgate_core::{Key, Name, Request};

use crate::error::excerpt_lossy;
use crate::policy::required_keys::RequiredKeys;

/// Returns a request with the keys in these arguments; `None` if there are too many or too few arguments.
///
/// # Errors
/// Fails if a key is invalid, or if the policy does not count it.
pub(super) fn parse<'a>(
    required: &'a RequiredKeys,
    args: &[&'a [u8]],
) -> Result<Option<Request<'a>>, String> {
    match args {
        // No limit needs a key, so any key is accepted and ignored.
        [] | [_] if required.is_empty() => Ok(Some(Request::new())),
        [key] if required.named.is_empty() => Ok(Some(Request::of(parse_key(key)?))),
        [] => Ok(None),
        _ if required.named.is_empty() => Ok(None),
        [all] => required.parse(required.split(all)).map(Some),
        each => required.parse(each.iter().copied()).map(Some),
    }
}

fn parse_key(bytes: &[u8]) -> Result<Key<'_>, String> {
    Key::new(bytes).map_err(|error| error.to_string())
}

impl RequiredKeys {
    fn parse<'a>(&'a self, parts: impl Iterator<Item = &'a [u8]>) -> Result<Request<'a>, String> {
        let mut request = Request::new();
        for part in parts {
            let (subject, key) = self.parse_part(part)?;
            if request.key_of(Some(subject)).is_some() {
                return Err(match subject {
                    "" => self.unknown_key(part),
                    subject => format!("duplicate key '{subject}='"),
                });
            }
            request = request.subject(subject, key);
        }
        Ok(request)
    }

    /// Parses one key. The subject of the nameless key is the empty string.
    fn parse_part<'a>(&'a self, part: &'a [u8]) -> Result<(&'a str, Key<'a>), String> {
        match self.strip_name(part) {
            Some((subject, key)) => parse_key(key)
                .map(|key| (subject, key))
                .map_err(|error| format!("{subject}: {error}")),
            None if self.nameless => parse_key(part).map(|key| ("", key)),
            None => Err(self.unknown_key(part)),
        }
    }

    fn unknown_key(&self, part: &[u8]) -> String {
        let expected: Vec<_> = self.named.iter().map(Name::as_str).collect();
        let expected = expected.join("=…, ");
        format!("unknown key '{}': expected {expected}=…", excerpt_lossy(part))
    }

    /// Splits `name=rest` if the name is a subject of the policy.
    fn strip_name<'a>(&'a self, text: &'a [u8]) -> Option<(&'a str, &'a [u8])> {
        self.named.iter().map(Name::as_str).find_map(|subject| {
            Some((subject, text.strip_prefix(subject.as_bytes())?.strip_prefix(b"=")?))
        })
    }

    /// Splits an argument into its keys: a new key starts where a space is followed by a `name=`.
    fn split<'a>(&'a self, arg: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = Some(arg);
        std::iter::from_fn(move || {
            let part = rest?;
            let ends = |at: &usize| {
                part.get(*at) == Some(&b' ')
                    && part.get(at + 1..).is_some_and(|next| self.strip_name(next).is_some())
            };
            match (0..part.len()).find(ends) {
                Some(end) => {
                    rest = part.get(end + 1..);
                    part.get(..end)
                }
                None => rest.take(),
            }
        })
    }
}
