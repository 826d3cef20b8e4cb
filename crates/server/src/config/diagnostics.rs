//! Collects the errors of a config file, each with its position.

use std::fmt;
use std::ops::Range;

use toml::de::Error;

/// Maximum number of diagnostics reported. If there are more, the user starts with these.
const MAX_REPORTED: usize = 100;
/// Maximum number of diagnostics kept, of which the first in the file are reported. Each message may
/// take a comparison with many names, and a file can have half a million errors.
const MAX_KEPT: usize = 10 * MAX_REPORTED;
/// Maximum length of a message, in characters. A file can have names and strings of any length.
const MAX_MESSAGE_CHARS: usize = 2_000;
/// Maximum number of characters of a name or a value that a message quotes.
const MAX_QUOTED_CHARS: usize = 60;

/// A message about one position of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The line, starting from 1.
    pub line: usize,
    /// The character within the line, starting from 1.
    pub column: usize,
    /// What is wrong, and what is expected instead.
    pub message: String,
}

impl Diagnostic {
    /// Creates a diagnostic for a file that is not a config file, such as a list of limits.
    #[must_use]
    pub fn new(line: usize, column: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic { line, column, message: message.into() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for Diagnostic {}

/// The diagnostics of one file.
pub(super) struct Diagnostics<'t> {
    text: &'t str,
    errors: Messages,
    unsupported: Messages,
    /// The lines with a syntax error. Any other error there is a consequence of it.
    broken_lines: Vec<Range<usize>>,
}

impl<'t> Diagnostics<'t> {
    pub(super) fn new(text: &'t str) -> Diagnostics<'t> {
        let (errors, unsupported) = (Messages::default(), Messages::default());
        Diagnostics { text, errors, unsupported, broken_lines: Vec::new() }
    }

    /// Returns the text of a span of the file.
    pub(super) fn source(&self, span: Range<usize>) -> &'t str {
        self.text.get(span).unwrap_or_default()
    }

    /// Adds the syntax errors. Returns whether it is worth reading the values that were parsed.
    pub(super) fn syntax(&mut self, errors: &[Error]) -> bool {
        for error in errors {
            let at = error.span().map(|span| span.start);
            self.errors.add(at.unwrap_or(0), || {
                let message = error.message();
                // The parser means that nothing may follow here.
                let message = message.strip_suffix(", expected nothing").unwrap_or(message);
                format!("invalid TOML: {message}")
            });
            if self.broken_lines.len() < MAX_REPORTED {
                self.broken_lines.push(at.map_or(0..0, |at| self.line_of(at)));
            }
        }
        errors.len() < MAX_REPORTED
    }

    fn line_of(&self, at: usize) -> Range<usize> {
        let (before, after) = self.text.split_at_checked(at).unwrap_or((self.text, ""));
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = after.find('\n').map_or(self.text.len(), |newline| at + newline);
        // A position at the very end of the file belongs to its last line.
        start..end + 1
    }

    /// Adds an error at a byte of the file.
    pub(super) fn error(&mut self, at: usize, message: impl Into<String>) {
        self.error_with(at, || message.into());
    }

    /// Adds an error whose message is expensive to build.
    pub(super) fn error_with(&mut self, at: usize, message: impl FnOnce() -> String) {
        if !self.broken_lines.iter().any(|line| line.contains(&at)) {
            self.errors.add(at, message);
        }
    }

    /// Adds an error about a missing value, unless it may be in a line with a syntax error.
    pub(super) fn missing(&mut self, at: usize, message: impl Into<String>) {
        if self.broken_lines.is_empty() {
            self.error(at, message);
        }
    }

    /// Adds a note that a valid setting has no effect yet.
    pub(super) fn unsupported(&mut self, at: usize, path: &str) {
        self.unsupported.add(at, || format!("{path} is not supported yet"));
    }

    /// Returns the errors and the notes about unsupported settings.
    pub(super) fn into_parts(self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        (self.errors.into_diagnostics(self.text), self.unsupported.into_diagnostics(self.text))
    }
}

/// Messages with the byte positions they are about.
#[derive(Default)]
struct Messages {
    kept: Vec<(usize, String)>,
    /// Number of messages that were not kept.
    dropped: usize,
}

impl Messages {
    fn add(&mut self, at: usize, message: impl FnOnce() -> String) {
        if self.kept.len() < MAX_KEPT {
            self.kept.push((at, truncated(&message(), MAX_MESSAGE_CHARS)));
        } else {
            self.dropped += 1;
        }
    }

    fn into_diagnostics(mut self, text: &str) -> Vec<Diagnostic> {
        self.kept.sort_by_key(|(at, _)| *at);
        // The parser repeats an error at the end of the file for every bracket that is still open.
        self.kept.dedup();
        let more = self.dropped + self.kept.len().saturating_sub(MAX_REPORTED);
        self.kept.truncate(MAX_REPORTED);
        let mut cursor = Cursor { text, at: 0, line: 1, column: 1 };
        let mut diagnostics: Vec<Diagnostic> = Vec::with_capacity(self.kept.len());
        for (at, message) in self.kept {
            cursor.advance_to(at);
            diagnostics.push(Diagnostic { line: cursor.line, column: cursor.column, message });
        }
        if let Some(last) = diagnostics.last_mut().filter(|_| more > 0) {
            last.message.push_str(&format!(" (and {more} more)"));
        }
        diagnostics
    }
}

/// A position that moves forward through the file, so that all lines and columns are found in one pass.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    column: usize,
}

impl Cursor<'_> {
    /// Moves forward to the character that contains the byte `at`.
    fn advance_to(&mut self, at: usize) {
        let is_boundary = |at: &usize| self.text.is_char_boundary(*at);
        let at = (self.at..=at.min(self.text.len())).rev().find(is_boundary).unwrap_or(self.at);
        let passed = self.text.get(self.at..at).unwrap_or_default();
        let lines = passed.matches('\n').count();
        let rest = passed.rsplit('\n').next().unwrap_or_default().chars().count();
        self.column = if lines > 0 { 1 + rest } else { self.column + rest };
        self.line += lines;
        self.at = at;
    }
}

/// Returns text of the file in quotes, truncated, for use in a message.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", truncated(text, MAX_QUOTED_CHARS))
}

/// Returns text of the file without quotes. It is escaped nevertheless, as it may contain anything: the
/// parser takes whatever starts like a number for a number.
pub(super) fn unquoted(text: &str) -> String {
    truncated(text, MAX_QUOTED_CHARS).escape_debug().to_string()
}

fn truncated(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
