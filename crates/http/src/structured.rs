//! Structured fields (RFC 9651), the part that we write: lists of items with parameters.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::limit_name::LimitName;
use crate::number::push_number;

/// Maximum integer of a structured field.
const MAX_INTEGER: u64 = 999_999_999_999_999;

/// Writes the members of a list in order, each with its parameters.
pub(crate) struct List<'o> {
    out: &'o mut String,
    /// Separator before a parameter.
    semicolon: &'static str,
}

impl<'o> List<'o> {
    /// Creates a list in the canonical form of RFC 9651.
    pub(crate) fn tight(out: &'o mut String) -> List<'o> {
        List { out, semicolon: ";" }
    }

    /// Creates a list with a blank after each semicolon.
    pub(crate) fn spaced(out: &'o mut String) -> List<'o> {
        List { out, semicolon: "; " }
    }

    /// Writes the next member, a name. It needs no escapes, since it cannot contain quotes.
    pub(crate) fn name(&mut self, name: LimitName<'_>) {
        self.begin();
        self.out.push('"');
        name.push_to(self.out);
        self.out.push('"');
    }

    /// Writes the next member, a number.
    pub(crate) fn number(&mut self, number: u64) {
        self.begin();
        push_number(self.out, number.min(MAX_INTEGER));
    }

    fn begin(&mut self) {
        if !self.out.is_empty() {
            self.out.push_str(", ");
        }
    }

    /// Writes a parameter that is a number.
    pub(crate) fn with_number(&mut self, key: &'static str, number: u64) {
        self.key(key);
        push_number(self.out, number.min(MAX_INTEGER));
    }

    /// Writes a parameter that is a constant or a name, which need no escapes.
    pub(crate) fn with_string(&mut self, key: &'static str, text: &str) {
        self.key(key);
        self.out.push('"');
        self.out.push_str(text);
        self.out.push('"');
    }

    /// Writes a parameter that is a byte sequence.
    pub(crate) fn with_bytes(&mut self, key: &'static str, bytes: &[u8]) {
        self.key(key);
        self.out.push(':');
        STANDARD.encode_string(bytes, self.out);
        self.out.push(':');
    }

    fn key(&mut self, key: &'static str) {
        self.out.push_str(self.semicolon);
        self.out.push_str(key);
        self.out.push('=');
    }
}
