//! What can be the key of a subject.

use std::fmt::{Display, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::subject::Key;

/// A value that can be a key: a reference to text or bytes, an integer, or an IP address.
///
/// An integer or an address is the same key as its text, so that a library and a server that gets
/// its keys as text count together. An IPv4 address mapped to IPv6 is the same key as the IPv4
/// address.
///
/// ```
/// use tollgate_core::IntoKey;
///
/// let address: std::net::IpAddr = "::ffff:203.0.113.9".parse()?;
/// assert_eq!(address.into_key().as_bytes(), b"203.0.113.9");
/// assert_eq!(42.into_key().as_bytes(), b"42");
/// assert_eq!(String::from("alice").as_str().into_key().as_bytes(), b"alice");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
pub trait IntoKey<'a> {
    /// Converts the value to the bytes of a key. They are checked when they are used.
    fn into_key(self) -> KeyBytes<'a>;
}

/// The bytes of a key, borrowed or written out. Created by [`IntoKey::into_key`].
#[derive(Debug, Clone)]
pub struct KeyBytes<'a>(Bytes<'a>);

#[derive(Debug, Clone)]
enum Bytes<'a> {
    Borrowed(&'a [u8]),
    Written(Text),
}

/// Maximum length of the text of an integer or an address.
const MAX_TEXT: usize = 46;

/// Text without an allocation.
#[derive(Debug, Clone)]
struct Text {
    length: u8,
    bytes: [u8; MAX_TEXT],
}

impl<'a> KeyBytes<'a> {
    /// Returns the bytes.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Written(text) => text.as_bytes(),
        }
    }

    /// Returns the bytes for as long as they are borrowed; `None` if they are written out.
    #[inline]
    pub(crate) fn as_borrowed(&self) -> Option<&'a [u8]> {
        match self.0 {
            Bytes::Borrowed(bytes) => Some(bytes),
            Bytes::Written(_) => None,
        }
    }

    /// Writes out a value whose text is never longer than [`MAX_TEXT`].
    fn written(value: impl Display) -> KeyBytes<'static> {
        let mut text = Text { length: 0, bytes: [0; MAX_TEXT] };
        // It fits: the longest are an i128 with 40 characters and an IPv6 address with 45.
        let _ = write!(text, "{value}");
        KeyBytes(Bytes::Written(text))
    }
}

impl Text {
    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&self.bytes)
    }
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        let start = usize::from(self.length);
        let end = start.saturating_add(part.len());
        let free = self.bytes.get_mut(start..end).ok_or(std::fmt::Error)?;
        free.copy_from_slice(part.as_bytes());
        self.length = u8::try_from(end).map_err(|_| std::fmt::Error)?;
        Ok(())
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> IntoKey<'a> for &'a T {
    #[inline]
    fn into_key(self) -> KeyBytes<'a> {
        KeyBytes(Bytes::Borrowed(self.as_ref()))
    }
}

impl<'a> IntoKey<'a> for Key<'a> {
    #[inline]
    fn into_key(self) -> KeyBytes<'a> {
        KeyBytes(Bytes::Borrowed(self.as_bytes()))
    }
}

impl<'a> IntoKey<'a> for KeyBytes<'a> {
    fn into_key(self) -> KeyBytes<'a> {
        self
    }
}

macro_rules! as_its_text {
    ($($number:ty)*) => {
        $(impl IntoKey<'_> for $number {
            fn into_key(self) -> KeyBytes<'static> {
                KeyBytes::written(self)
            }
        })*
    };
}

as_its_text!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize Ipv4Addr);

impl IntoKey<'_> for IpAddr {
    fn into_key(self) -> KeyBytes<'static> {
        KeyBytes::written(self.to_canonical())
    }
}

impl IntoKey<'_> for Ipv6Addr {
    fn into_key(self) -> KeyBytes<'static> {
        IpAddr::V6(self).into_key()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_texts_fit() {
        let longest = [
            i128::MIN.into_key(),
            u128::MAX.into_key(),
            Ipv6Addr::from([u16::MAX; 8]).into_key(),
            Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0xffff, 0xffff).into_key(),
        ];
        let expected = [
            i128::MIN.to_string(),
            u128::MAX.to_string(),
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".to_owned(),
            Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0xffff, 0xffff).to_string(),
        ];
        assert_eq!(longest.map(|key| key.as_bytes().to_vec()), expected.map(String::into_bytes));
    }

    #[test]
    fn a_mapped_address_is_the_ipv4_address() {
        let mapped = Ipv4Addr::new(203, 0, 113, 9).to_ipv6_mapped();
        for key in [mapped.into_key(), IpAddr::V6(mapped).into_key()] {
            assert_eq!(key.as_bytes(), b"203.0.113.9");
        }
    }
}
