//! Tables and values of the file, with what they are called and where they are.

use std::ops::{Range, RangeInclusive};

use tollgate_core::did_you_mean;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::diagnostics::{Diagnostics, repeated, repeated_bare};

type Entry<'a> = (&'a Spanned<DeString<'a>>, &'a Spanned<DeValue<'a>>);

/// A table, of which one word after the other is taken.
pub(super) struct Table<'a> {
    path: String,
    at: usize,
    entries: &'a DeTable<'a>,
    /// Which words it may have: those that were asked for.
    known: Vec<&'static str>,
}

impl<'a> Table<'a> {
    /// The whole file.
    pub(super) fn root(entries: &'a DeTable<'a>) -> Table<'a> {
        Table { path: String::new(), at: 0, entries, known: Vec::new() }
    }

    /// What it is called.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Where its name stands.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What stands after a word, if it is there.
    pub(super) fn take(&mut self, word: &'static str) -> Option<Value<'a>> {
        self.known.push(word);
        self.entries.get_key_value(word).and_then(|entry| self.value(entry))
    }

    /// The same, for a word that must be there.
    pub(super) fn need(
        &mut self,
        found: &mut Diagnostics<'_>,
        word: &'static str,
    ) -> Option<Value<'a>> {
        let value = self.take(word);
        if value.is_none() {
            found.missing(self.at, format!("{} has no {word}", self.path));
        }
        value
    }

    /// Everything in it, where the words are for the file to choose; in the order of the file.
    pub(super) fn all(&self) -> Vec<(&'a str, Value<'a>)> {
        let named = |entry: Entry<'a>| Some((entry.0.get_ref().as_ref(), self.value(entry)?));
        self.sorted().into_iter().filter_map(named).collect()
    }

    /// In the order of the file.
    fn sorted(&self) -> Vec<Entry<'a>> {
        let mut entries: Vec<Entry<'a>> = self.entries.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
    }

    fn value(&self, (key, value): Entry<'a>) -> Option<Value<'a>> {
        // Where a value could not be read the parser puts one that stands nowhere.
        if value.span().is_empty() {
            return None;
        }
        let at = match value.get_ref() {
            DeValue::Table(_) => key.span().start,
            _ => value.span().start,
        };
        let path = dotted(&self.path, key.get_ref());
        Some(Value { path, at, item: false, spanned: value })
    }

    /// Nothing may be left that nobody asked for.
    pub(super) fn finish(self, found: &mut Diagnostics<'_>) {
        for (key, _) in self.sorted() {
            let word = key.get_ref().as_ref();
            if !self.known.contains(&word) {
                found.mistake_if(key.span().start, || {
                    let accepted = listed(self.known.iter().copied());
                    let path = dotted(&self.path, word);
                    let meant = did_you_mean(word, self.known.iter().copied());
                    format!("{path} is not known; expected {accepted}{meant}")
                });
            }
        }
    }
}

/// A word after the path of its table. One that TOML would quote is quoted: it may hold anything.
fn dotted(path: &str, word: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_bare = !word.is_empty() && word.bytes().all(bare);
    let word = if is_bare { repeated_bare(word) } else { repeated(word) };
    if path.is_empty() { word } else { format!("{path}.{word}") }
}

/// `a, b or c`.
pub(super) fn listed<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// A value of the file.
pub(super) struct Value<'a> {
    path: String,
    at: usize,
    /// Whether it is in a list that is called so.
    item: bool,
    spanned: &'a Spanned<DeValue<'a>>,
}

impl<'a> Value<'a> {
    /// What it is called.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Where it stands; for a table, where its name does.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn raw(&self) -> &'a DeValue<'a> {
        self.spanned.get_ref()
    }

    /// All of it, in the file.
    pub(super) fn span(&self) -> Range<usize> {
        self.spanned.span()
    }

    /// Notes that it is not what it should be.
    pub(super) fn wrong(&self, found: &mut Diagnostics<'_>, is: &str, expected: &str) {
        let of = if self.item { "an item of " } else { "" };
        found.mistake_if(self.at, || format!("{of}{} is {is}; expected {expected}", self.path));
    }

    fn wrong_type<T>(&self, found: &mut Diagnostics<'_>, expected: &str) -> Option<T> {
        self.wrong(found, kind(self.raw()), expected);
        None
    }

    /// A string, which should be what is said.
    pub(super) fn text(&self, found: &mut Diagnostics<'_>, expected: &str) -> Option<&'a str> {
        match self.raw() {
            DeValue::String(text) => Some(text.as_ref()),
            _ => self.wrong_type(found, expected),
        }
    }

    /// A string with something in it.
    pub(super) fn some_text(&self, found: &mut Diagnostics<'_>, expected: &str) -> Option<&'a str> {
        let text = self.text(found, expected)?;
        if text.is_empty() {
            self.wrong(found, "empty", expected);
        }
        Some(text).filter(|text| !text.is_empty())
    }

    /// A string that stands for something.
    pub(super) fn parsed<T>(
        &self,
        found: &mut Diagnostics<'_>,
        expected: &str,
        parse: impl FnOnce(&'a str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(found, expected)?;
        let value = parse(text);
        if value.is_none() {
            self.wrong(found, &repeated(text), expected);
        }
        value
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(
        &self,
        found: &mut Diagnostics<'_>,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let names = || words.iter().map(|(name, _)| *name);
        let accepted = listed(names());
        let text = self.text(found, &accepted)?;
        let value = words.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if value.is_none() {
            let meant = did_you_mean(text, names());
            self.wrong(found, &repeated(text), &format!("{accepted}{meant}"));
        }
        value
    }

    /// A whole number within a range.
    pub(super) fn whole(
        &self,
        found: &mut Diagnostics<'_>,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let DeValue::Integer(written) = self.raw() else {
            return self.wrong_type(found, &expected);
        };
        let number = u64::from_str_radix(written.as_str(), written.radix()).ok();
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let text = repeated_bare(found.written(self.span()));
            self.wrong(found, &text, &expected);
        }
        number
    }

    /// The items of a list.
    pub(super) fn list(
        &self,
        found: &mut Diagnostics<'_>,
        expected: &str,
    ) -> Option<Vec<Value<'a>>> {
        let DeValue::Array(items) = self.raw() else {
            return self.wrong_type(found, expected);
        };
        let item = |spanned: &'a Spanned<DeValue<'a>>| {
            let (path, at) = (self.path.clone(), spanned.span().start);
            Value { path, at, item: true, spanned }
        };
        Some(items.iter().filter(|item| !item.span().is_empty()).map(item).collect())
    }

    /// A table.
    pub(super) fn table(&self, found: &mut Diagnostics<'_>) -> Option<Table<'a>> {
        let DeValue::Table(entries) = self.raw() else {
            return self.wrong_type(found, "a table");
        };
        Some(Table { path: self.path.clone(), at: self.at, entries, known: Vec::new() })
    }
}

/// What a value is, in words.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
