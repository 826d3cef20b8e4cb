//! Encodes replies.

use tollgate_core::{Decision, Span, StoreError};

use crate::engine::Answer;

/// The protocol version of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Two,
    Three,
}

impl Version {
    pub(crate) fn number(self) -> i64 {
        match self {
            Version::Two => 2,
            Version::Three => 3,
        }
    }
}

/// Appends replies to a buffer.
#[derive(Debug)]
pub(crate) struct Reply<'o> {
    out: &'o mut Vec<u8>,
    version: Version,
}

impl<'o> Reply<'o> {
    pub(crate) fn new(out: &'o mut Vec<u8>, version: Version) -> Reply<'o> {
        Reply { out, version }
    }

    /// `+OK`
    pub(crate) fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// `-ERR …`. Control characters become spaces, as a newline would end the reply early.
    pub(crate) fn error(&mut self, text: &[u8]) {
        self.out.push(b'-');
        self.out.extend(text.iter().map(|byte| if *byte < b' ' { b' ' } else { *byte }));
        self.end();
    }

    /// `:5`
    #[inline]
    pub(crate) fn number(&mut self, number: i64) {
        // Fast path: most numbers are small, and are written in one piece.
        match u8::try_from(number) {
            _ if number == -1 => self.out.extend_from_slice(b":-1\r\n"),
            Ok(one @ 0..10) => self.out.extend_from_slice(&[b':', b'0' + one, b'\r', b'\n']),
            Ok(two @ 10..100) => {
                let (tens, ones) = (b'0' + two / 10, b'0' + two % 10);
                self.out.extend_from_slice(&[b':', tens, ones, b'\r', b'\n']);
            }
            _ => self.line(b':', itoa::Buffer::new().format(number).as_bytes()),
        }
    }

    /// `$2\r\nhi`
    pub(crate) fn bulk(&mut self, bytes: &[u8]) {
        self.length(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.end();
    }

    /// The null reply.
    pub(crate) fn null(&mut self) {
        self.out.extend_from_slice(match self.version {
            Version::Two => b"$-1\r\n",
            Version::Three => b"_\r\n",
        });
    }

    /// `#t` or `#f`; in version 2, which has no such type, `:1` or `:0`.
    pub(crate) fn boolean(&mut self, value: bool) {
        match self.version {
            Version::Two => self.number(i64::from(value)),
            Version::Three => self.out.extend_from_slice(if value { b"#t\r\n" } else { b"#f\r\n" }),
        }
    }

    /// The null array.
    pub(crate) fn null_array(&mut self) {
        match self.version {
            Version::Two => self.out.extend_from_slice(b"*-1\r\n"),
            Version::Three => self.null(),
        }
    }

    /// The header of an array; the elements must follow.
    pub(crate) fn array(&mut self, length: usize) {
        self.length(b'*', length);
    }

    /// An array of simple strings.
    pub(crate) fn simple_strings(&mut self, strings: &[&str]) {
        self.array(strings.len());
        for string in strings {
            self.simple(string);
        }
    }

    /// The header of a map; the keys and values must follow.
    pub(crate) fn map(&mut self, pairs: usize) {
        match self.version {
            Version::Two => self.array(pairs * 2),
            Version::Three => self.length(b'%', pairs),
        }
    }

    /// A text of several lines: a verbatim string in version 3.
    pub(crate) fn text(&mut self, text: &str) {
        match self.version {
            Version::Two => self.bulk(text.as_bytes()),
            Version::Three => {
                self.length(b'=', "txt:".len() + text.len());
                self.out.extend_from_slice(b"txt:");
                self.out.extend_from_slice(text.as_bytes());
                self.end();
            }
        }
    }

    fn line(&mut self, prefix: u8, text: &[u8]) {
        self.out.push(prefix);
        self.out.extend_from_slice(text);
        self.end();
    }

    fn length(&mut self, prefix: u8, length: usize) {
        self.line(prefix, itoa::Buffer::new().format(length).as_bytes());
    }

    fn end(&mut self) {
        self.out.extend_from_slice(b"\r\n");
    }

    /// `[limited, limit, remaining, retry after, reset after]` in seconds, as redis-cell replies.
    pub(crate) fn throttle(&mut self, answer: &Answer) {
        let Some(decision) = self.decision_or_error(answer) else { return };
        let wait = decision.retry_after.filter(|_| !decision.allowed);
        self.numbers([
            i64::from(!decision.allowed),
            count(decision.limit),
            count(decision.remaining),
            wait.map_or(-1, seconds),
            seconds(decision.reset_after),
        ]);
    }

    /// `[allowed, limit, remaining, retry after, reset after]` in milliseconds. A number without a bound and a
    /// retry that will never be allowed are -1.
    pub(crate) fn decision(&mut self, answer: &Answer) {
        let Some(decision) = self.decision_or_error(answer) else { return };
        self.numbers([
            i64::from(decision.allowed),
            count(decision.limit),
            count(decision.remaining),
            decision.retry_after.map_or(-1, millis),
            millis(decision.reset_after),
        ]);
    }

    /// A decision as `write` writes it.
    pub(crate) fn decision_by(
        &mut self,
        answer: &Answer,
        write: impl FnOnce(&mut Self, &Decision),
    ) {
        if let Some(decision) = self.decision_or_error(answer) {
            write(self, decision);
        }
    }

    /// Returns the decision, or writes the error of the store.
    fn decision_or_error<'a>(&mut self, answer: &'a Answer) -> Option<&'a Decision> {
        answer.as_ref().inspect_err(|error| self.store_error(error)).ok()
    }

    #[cold]
    fn store_error(&mut self, error: &StoreError) {
        let prefix = if error.is_unavailable() { "TGDOWN" } else { "ERR" };
        self.error(format!("{prefix} {}", crate::error::with_causes(error)).as_bytes());
    }

    fn numbers(&mut self, numbers: [i64; 5]) {
        self.out.extend_from_slice(b"*5\r\n");
        for number in numbers {
            self.number(number);
        }
    }
}

fn count(count: Option<u64>) -> i64 {
    count.map_or(-1, |count| i64::try_from(count).unwrap_or(i64::MAX))
}

/// Rounds up, so that a client that waits so long does not retry too early.
fn seconds(span: Span) -> i64 {
    round_up(span, 1_000_000)
}

pub(super) fn millis(span: Span) -> i64 {
    round_up(span, 1_000)
}

fn round_up(span: Span, unit: u64) -> i64 {
    i64::try_from(span.as_micros().div_ceil(unit)).unwrap_or(i64::MAX)
}
