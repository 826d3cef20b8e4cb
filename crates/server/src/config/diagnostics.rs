//! What is wrong in a file, all of it, each with its place.

use std::fmt;
use std::ops::Range;

use toml::de::Error;

/// How many mistakes are told at most: whoever has more begins with these.
const MAX_TOLD: usize = 100;
/// How many are worded at most, of which those that come first in the file are told. Each may have
/// to be compared with many words, and a file can have half a million.
const MAX_WORDED: usize = 10 * MAX_TOLD;
/// The longest text of a mistake, in characters. A file can have names and words of any length.
const MAX_CHARACTERS: usize = 2_000;
/// How many characters of a word or a value are repeated.
const MAX_REPEATED: usize = 60;

/// Something about one place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Which line, counted from 1.
    pub line: usize,
    /// Which character of the line, counted from 1.
    pub column: usize,
    /// What it is, and what is expected instead.
    pub what: String,
}

impl Diagnostic {
    /// Something about a place of a file that is not a config.
    #[must_use]
    pub fn new(line: usize, column: usize, what: impl Into<String>) -> Diagnostic {
        Diagnostic { line, column, what: what.into() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what)
    }
}

impl std::error::Error for Diagnostic {}

/// All that was found.
pub(super) struct Diagnostics<'t> {
    text: &'t str,
    mistakes: Notes,
    not_yet: Notes,
    /// The lines that are no TOML. What else seems wrong with them follows from that.
    broken: Vec<Range<usize>>,
}

impl<'t> Diagnostics<'t> {
    pub(super) fn new(text: &'t str) -> Diagnostics<'t> {
        let (mistakes, not_yet) = (Notes::default(), Notes::default());
        Diagnostics { text, mistakes, not_yet, broken: Vec::new() }
    }

    /// Some text of the file.
    pub(super) fn written(&self, span: Range<usize>) -> &'t str {
        self.text.get(span).unwrap_or_default()
    }

    /// What is no TOML. Whether there is any use in looking further.
    pub(super) fn syntax(&mut self, errors: &[Error]) -> bool {
        for error in errors {
            let at = error.span().map(|span| span.start);
            self.mistakes.add(at.unwrap_or(0), || {
                let message = error.message();
                // There it means that the rest should not be.
                format!(
                    "no TOML: {}",
                    message.strip_suffix(", expected nothing").unwrap_or(message)
                )
            });
            if self.broken.len() < MAX_TOLD {
                self.broken.push(at.map_or(0..0, |at| self.line_of(at)));
            }
        }
        errors.len() < MAX_TOLD
    }

    fn line_of(&self, at: usize) -> Range<usize> {
        let (before, after) = self.text.split_at_checked(at).unwrap_or((self.text, ""));
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = after.find('\n').map_or(self.text.len(), |newline| at + newline);
        // A place at the very end belongs to its line too.
        start..end + 1
    }

    /// Notes a mistake at a byte of the file.
    pub(super) fn mistake(&mut self, at: usize, what: impl Into<String>) {
        self.mistake_if(at, || what.into());
    }

    /// The same, for what takes long to say.
    pub(super) fn mistake_if(&mut self, at: usize, what: impl FnOnce() -> String) {
        if !self.broken.iter().any(|line| line.contains(&at)) {
            self.mistakes.add(at, what);
        }
    }

    /// Notes that something is not there, unless it may stand where the file is no TOML.
    pub(super) fn missing(&mut self, at: usize, what: impl Into<String>) {
        if self.broken.is_empty() {
            self.mistake(at, what);
        }
    }

    /// Notes that something is understood, and does not happen yet.
    pub(super) fn not_yet(&mut self, at: usize, path: &str) {
        self.not_yet.add(at, || format!("{path} is not acted on yet"));
    }

    /// The mistakes, and what does not happen yet.
    pub(super) fn told(self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        (self.mistakes.told(self.text), self.not_yet.told(self.text))
    }
}

/// Texts about places of the file.
#[derive(Default)]
struct Notes {
    worded: Vec<(usize, String)>,
    /// How many there are besides.
    more: usize,
}

impl Notes {
    fn add(&mut self, at: usize, what: impl FnOnce() -> String) {
        if self.worded.len() < MAX_WORDED {
            self.worded.push((at, cut(&what(), MAX_CHARACTERS)));
        } else {
            self.more += 1;
        }
    }

    fn told(mut self, text: &str) -> Vec<Diagnostic> {
        self.worded.sort_by_key(|(at, _)| *at);
        // Whatever is open at the end of the file is told once for each time it was opened.
        self.worded.dedup();
        let more = self.more + self.worded.len().saturating_sub(MAX_TOLD);
        self.worded.truncate(MAX_TOLD);
        let mut place = Place { text, at: 0, line: 1, column: 1 };
        let mut told: Vec<Diagnostic> = Vec::with_capacity(self.worded.len());
        for (at, what) in self.worded {
            place.go_to(at);
            told.push(Diagnostic { line: place.line, column: place.column, what });
        }
        if let Some(last) = told.last_mut().filter(|_| more > 0) {
            last.what.push_str(&format!(" (and {more} more)"));
        }
        told
    }
}

/// A place that walks through the file, so that all places take one reading.
struct Place<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    column: usize,
}

impl Place<'_> {
    /// Goes on to the character of a byte that is not before this one.
    fn go_to(&mut self, at: usize) {
        let begins = |at: &usize| self.text.is_char_boundary(*at);
        let at = (self.at..=at.min(self.text.len())).rev().find(begins).unwrap_or(self.at);
        let passed = self.text.get(self.at..at).unwrap_or_default();
        let lines = passed.matches('\n').count();
        let rest = passed.rsplit('\n').next().unwrap_or_default().chars().count();
        self.column = if lines > 0 { 1 + rest } else { self.column + rest };
        self.line += lines;
        self.at = at;
    }
}

/// Some text of the file, as a mistake repeats it.
pub(super) fn repeated(text: &str) -> String {
    format!("{:?}", cut(text, MAX_REPEATED))
}

/// The same for what needs no quotes. It may still hold anything: the parser takes what begins like
/// a number for one.
pub(super) fn repeated_bare(text: &str) -> String {
    cut(text, MAX_REPEATED).escape_debug().to_string()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
