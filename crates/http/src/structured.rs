//! Structured fields (RFC 9651), as little of them as we write: lists of items with parameters.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::limit_name::LimitName;
use crate::number::push_number;

/// The greatest whole number a structured field can hold.
const MAX_INTEGER: u64 = 999_999_999_999_999;

/// Writes a list, a member after another, each with its parameters.
pub(crate) struct List<'o> {
    out: &'o mut String,
    /// What stands before a parameter.
    semicolon: &'static str,
}

impl<'o> List<'o> {
    /// A list that is written as RFC 9651 would print it.
    pub(crate) fn tight(out: &'o mut String) -> List<'o> {
        List { out, semicolon: ";" }
    }

    /// The same with a blank after each semicolon.
    pub(crate) fn spaced(out: &'o mut String) -> List<'o> {
        List { out, semicolon: "; " }
    }

    /// The next member: a name. It needs no escapes, since it can hold no quotes.
    pub(crate) fn name(&mut self, name: LimitName<'_>) {
        self.begin();
        self.out.push('"');
        name.push_to(self.out);
        self.out.push('"');
    }

    /// The next member: a number.
    pub(crate) fn number(&mut self, number: u64) {
        self.begin();
        push_number(self.out, number.min(MAX_INTEGER));
    }

    fn begin(&mut self) {
        if !self.out.is_empty() {
            self.out.push_str(", ");
        }
    }

    /// A parameter that is a number.
    pub(crate) fn with_number(&mut self, key: &'static str, number: u64) {
        self.key(key);
        push_number(self.out, number.min(MAX_INTEGER));
    }

    /// A parameter that is a word of our own, which needs no escapes.
    pub(crate) fn with_word(&mut self, key: &'static str, word: &'static str) {
        self.key(key);
        self.out.push('"');
        self.out.push_str(word);
        self.out.push('"');
    }

    /// A parameter that is bytes.
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
