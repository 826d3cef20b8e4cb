//! Little-endian numbers of a given width, as Lua's `struct` writes them.

/// Reads from the front of a slice; returns `None` where there are not enough bytes.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Returns whether this is the next byte.
    pub(crate) fn starts_with(&self, byte: u8) -> bool {
        self.0.first() == Some(&byte)
    }

    /// Takes all that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Reads a number of up to eight bytes.
    pub(crate) fn number(&mut self, bytes: usize) -> Option<u64> {
        let read = self.take(bytes)?.0;
        let mut wide = [0; 8];
        wide.get_mut(..bytes)?.copy_from_slice(read);
        Some(u64::from_le_bytes(wide))
    }

    /// Splits off a reader of the next `bytes` bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<Reader<'a>> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(Reader(taken))
    }
}

/// Appends a number in the given width, at most eight bytes.
pub(crate) fn put(out: &mut Vec<u8>, number: u64, bytes: usize) {
    out.extend(number.to_le_bytes().into_iter().take(bytes));
}
