//! Where fields go: each is put together in the same piece of memory and handed on.

use crate::number::push_number;

/// Room for all but the longest fields, so that it seldom has to grow.
const ROOM: usize = 128;

/// Hands fields to whoever sends them.
pub(crate) struct Fields<'e> {
    each: &'e mut dyn FnMut(&'static str, &str),
    value: String,
}

impl<'e> Fields<'e> {
    pub(crate) fn new(each: &'e mut dyn FnMut(&'static str, &str)) -> Fields<'e> {
        Fields { each, value: String::with_capacity(ROOM) }
    }

    /// A field that is text.
    pub(crate) fn text(&mut self, name: &'static str, value: &str) {
        (self.each)(name, value);
    }

    /// A field that is one number.
    pub(crate) fn number(&mut self, name: &'static str, number: u64) {
        self.built(name, |value| push_number(value, number));
    }

    /// A field that `build` puts together; left out if that is nothing.
    pub(crate) fn built(&mut self, name: &'static str, build: impl FnOnce(&mut String)) {
        self.value.clear();
        build(&mut self.value);
        if !self.value.is_empty() {
            (self.each)(name, &self.value);
        }
    }
}
