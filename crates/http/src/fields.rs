//! Builds header fields in one reused buffer and passes them to a callback.

use crate::number::push_number;

/// Enough for all but the longest fields, so that the buffer rarely has to grow.
const BUFFER_BYTES: usize = 128;

/// Builds fields and passes each to the callback.
pub(crate) struct Fields<'e> {
    each: &'e mut dyn FnMut(&'static str, &str),
    value: String,
}

impl<'e> Fields<'e> {
    pub(crate) fn new(each: &'e mut dyn FnMut(&'static str, &str)) -> Fields<'e> {
        Fields { each, value: String::with_capacity(BUFFER_BYTES) }
    }

    /// Passes on a field with this text.
    pub(crate) fn text(&mut self, name: &'static str, value: &str) {
        (self.each)(name, value);
    }

    /// Passes on a field that is one number.
    pub(crate) fn number(&mut self, name: &'static str, number: u64) {
        self.built(name, |value| push_number(value, number));
    }

    /// Passes on a field that `build` writes, unless it is empty.
    pub(crate) fn built(&mut self, name: &'static str, build: impl FnOnce(&mut String)) {
        self.value.clear();
        build(&mut self.value);
        if !self.value.is_empty() {
            (self.each)(name, &self.value);
        }
    }
}
