//! Tables and values of the config file, with their names and positions.

use std::ops::{Range, RangeInclusive};

use tollgate_core::did_you_mean;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::diagnostics::{Diagnostics, quoted, unquoted};

type Entry<'a> = (&'a Spanned<DeString<'a>>, &'a Spanned<DeValue<'a>>);

/// A table whose keys are taken one by one.
pub(super) struct Table<'a> {
    path: String,
    at: usize,
    entries: &'a DeTable<'a>,
    /// The keys the table may have, which are those taken so far.
    known: Vec<&'static str>,
}

impl<'a> Table<'a> {
    /// Creates the table of the whole file.
    pub(super) fn root(entries: &'a DeTable<'a>) -> Table<'a> {
        Table { path: String::new(), at: 0, entries, known: Vec::new() }
    }

    /// Returns the dotted name of the table.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the position of the table's name.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the value of a key, if the key is there.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.known.push(key);
        self.entries.get_key_value(key).and_then(|entry| self.value(entry))
    }

    /// Returns the value of a key, and adds an error if the key is missing.
    pub(super) fn take_required(
        &mut self,
        diagnostics: &mut Diagnostics<'_>,
        key: &'static str,
    ) -> Option<Value<'a>> {
        let value = self.take(key);
        if value.is_none() {
            diagnostics.missing(self.at, format!("missing key {}", join_path(&self.path, key)));
        }
        value
    }

    /// Returns all entries in the order of the file, for a table whose keys are names chosen by the user.
    pub(super) fn all(&self) -> Vec<(&'a str, Value<'a>)> {
        let named = |entry: Entry<'a>| Some((entry.0.get_ref().as_ref(), self.value(entry)?));
        self.sorted().into_iter().filter_map(named).collect()
    }

    /// Returns the entries in the order of the file.
    fn sorted(&self) -> Vec<Entry<'a>> {
        let mut entries: Vec<Entry<'a>> = self.entries.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
    }

    fn value(&self, (key, value): Entry<'a>) -> Option<Value<'a>> {
        // For a value with a syntax error the parser inserts a placeholder with an empty span.
        if value.span().is_empty() {
            return None;
        }
        let at = match value.get_ref() {
            DeValue::Table(_) => key.span().start,
            _ => value.span().start,
        };
        let path = join_path(&self.path, key.get_ref());
        Some(Value { path, at, is_item: false, spanned: value })
    }

    /// Adds an error for every key that was not taken.
    pub(super) fn finish(self, diagnostics: &mut Diagnostics<'_>) {
        for (key, _) in self.sorted() {
            let name = key.get_ref().as_ref();
            if !self.known.contains(&name) {
                diagnostics.error_with(key.span().start, || {
                    let expected = join_or(self.known.iter().copied());
                    let path = join_path(&self.path, name);
                    let suggestion = did_you_mean(name, self.known.iter().copied());
                    format!("unknown key {path}; expected {expected}{suggestion}")
                });
            }
        }
    }
}

/// Appends a key to the path of its table. A key that TOML would quote is quoted, as it may contain
/// anything.
fn join_path(path: &str, key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_bare = !key.is_empty() && key.bytes().all(bare);
    let key = if is_bare { unquoted(key) } else { quoted(key) };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// Joins words as in `a, b or c`.
pub(super) fn join_or<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
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
    /// Whether this is an item of the list that `path` names.
    is_item: bool,
    spanned: &'a Spanned<DeValue<'a>>,
}

impl<'a> Value<'a> {
    /// Returns the dotted name of the value.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the position of the value, or of its name if it is a table.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn raw(&self) -> &'a DeValue<'a> {
        self.spanned.get_ref()
    }

    /// Returns the span of the value in the file.
    pub(super) fn span(&self) -> Range<usize> {
        self.spanned.span()
    }

    /// Adds the error `PATH is ACTUAL; expected EXPECTED`.
    pub(super) fn unexpected(
        &self,
        diagnostics: &mut Diagnostics<'_>,
        actual: &str,
        expected: &str,
    ) {
        self.error(diagnostics, || format!("is {actual}; expected {expected}"));
    }

    /// Adds an error whose message starts with the name of the value.
    pub(super) fn error(
        &self,
        diagnostics: &mut Diagnostics<'_>,
        message: impl FnOnce() -> String,
    ) {
        let of = if self.is_item { "an item of " } else { "" };
        diagnostics.error_with(self.at, || format!("{of}{} {}", self.path, message()));
    }

    fn unexpected_type<T>(&self, diagnostics: &mut Diagnostics<'_>, expected: &str) -> Option<T> {
        self.unexpected(diagnostics, type_name(self.raw()), expected);
        None
    }

    /// Returns a string. `expected` describes it in the error for any other type.
    pub(super) fn text(
        &self,
        diagnostics: &mut Diagnostics<'_>,
        expected: &str,
    ) -> Option<&'a str> {
        match self.raw() {
            DeValue::String(text) => Some(text.as_ref()),
            _ => self.unexpected_type(diagnostics, expected),
        }
    }

    /// Returns a string that is not empty.
    pub(super) fn non_empty_text(
        &self,
        diagnostics: &mut Diagnostics<'_>,
        expected: &str,
    ) -> Option<&'a str> {
        let text = self.text(diagnostics, expected)?;
        if text.is_empty() {
            self.unexpected(diagnostics, "empty", expected);
        }
        Some(text).filter(|text| !text.is_empty())
    }

    /// Returns what `parse` makes of a string.
    pub(super) fn parsed<T>(
        &self,
        diagnostics: &mut Diagnostics<'_>,
        expected: &str,
        parse: impl FnOnce(&'a str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(diagnostics, expected)?;
        let value = parse(text);
        if value.is_none() {
            self.unexpected(diagnostics, &quoted(text), expected);
        }
        value
    }

    /// Returns the choice that a string names.
    pub(super) fn choice<T: Copy>(
        &self,
        diagnostics: &mut Diagnostics<'_>,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let names = || choices.iter().map(|(name, _)| *name);
        let expected = join_or(names());
        let text = self.text(diagnostics, &expected)?;
        let value = choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if value.is_none() {
            let suggestion = did_you_mean(text, names());
            self.unexpected(diagnostics, &quoted(text), &format!("{expected}{suggestion}"));
        }
        value
    }

    /// Returns a whole number within a range.
    pub(super) fn whole(
        &self,
        diagnostics: &mut Diagnostics<'_>,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let DeValue::Integer(digits) = self.raw() else {
            return self.unexpected_type(diagnostics, &expected);
        };
        let number = u64::from_str_radix(digits.as_str(), digits.radix()).ok();
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let text = unquoted(diagnostics.source(self.span()));
            self.unexpected(diagnostics, &text, &expected);
        }
        number
    }

    /// Returns the items of a list.
    pub(super) fn list(
        &self,
        diagnostics: &mut Diagnostics<'_>,
        expected: &str,
    ) -> Option<Vec<Value<'a>>> {
        let DeValue::Array(items) = self.raw() else {
            return self.unexpected_type(diagnostics, expected);
        };
        let item = |spanned: &'a Spanned<DeValue<'a>>| {
            let (path, at) = (self.path.clone(), spanned.span().start);
            Value { path, at, is_item: true, spanned }
        };
        Some(items.iter().filter(|item| !item.span().is_empty()).map(item).collect())
    }

    /// Returns a table.
    pub(super) fn table(&self, diagnostics: &mut Diagnostics<'_>) -> Option<Table<'a>> {
        let DeValue::Table(entries) = self.raw() else {
            return self.unexpected_type(diagnostics, "a table");
        };
        Some(Table { path: self.path.clone(), at: self.at, entries, known: Vec::new() })
    }
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
