//! RuleParams of so many bytes, the lowest first, as `struct` of Lua writes them.

/// Reads from the front; `None` where there is not enough.
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

    /// A number of up to eight bytes.
    pub(crate) fn number(&mut self, bytes: usize) -> Option<u64> {
        let part = self.part(bytes)?.0;
        let mut wide = [0; 8];
        wide.get_mut(..bytes)?.copy_from_slice(part);
        Some(u64::from_le_bytes(wide))
    }

    /// The next so many bytes.
    pub(crate) fn part(&mut self, bytes: usize) -> Option<Reader<'a>> {
        let (part, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(Reader(part))
    }
}

/// Appends a number of so many bytes, at most eight.
pub(crate) fn put(out: &mut Vec<u8>, number: u64, bytes: usize) {
    out.extend(number.to_le_bytes().into_iter().take(bytes));
}
