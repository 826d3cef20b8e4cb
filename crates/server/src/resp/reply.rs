//! Answers, as the protocol writes them.

use tollgate_core::{Decision, Span, StoreError};

use crate::engine::Answer;

/// Which version of the protocol a client speaks.
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

/// Writes replies one after the other.
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

    /// `-ERR …`. What would end the line early becomes a blank.
    pub(crate) fn error(&mut self, text: &[u8]) {
        self.out.push(b'-');
        self.out.extend(text.iter().map(|byte| if *byte < b' ' { b' ' } else { *byte }));
        self.end();
    }

    /// `:5`
    #[inline]
    pub(crate) fn number(&mut self, number: i64) {
        // MaxConnections are small, and are written in one piece.
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

    /// `$2` and the bytes.
    pub(crate) fn bulk(&mut self, bytes: &[u8]) {
        self.length(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.end();
    }

    /// Nothing.
    pub(crate) fn null(&mut self) {
        self.out.extend_from_slice(match self.version {
            Version::Two => b"$-1\r\n",
            Version::Three => b"_\r\n",
        });
    }

    /// No list at all.
    pub(crate) fn null_array(&mut self) {
        match self.version {
            Version::Two => self.out.extend_from_slice(b"*-1\r\n"),
            Version::Three => self.null(),
        }
    }

    /// So many replies follow.
    pub(crate) fn array(&mut self, length: usize) {
        self.length(b'*', length);
    }

    /// A list of words.
    pub(crate) fn words(&mut self, words: &[&str]) {
        self.array(words.len());
        for word in words {
            self.simple(word);
        }
    }

    /// So many pairs follow.
    pub(crate) fn map(&mut self, pairs: usize) {
        match self.version {
            Version::Two => self.array(pairs * 2),
            Version::Three => self.length(b'%', pairs),
        }
    }

    /// A text of several lines, for people.
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

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.out.push(kind);
        self.out.extend_from_slice(text);
        self.end();
    }

    fn length(&mut self, kind: u8, length: usize) {
        self.line(kind, itoa::Buffer::new().format(length).as_bytes());
    }

    fn end(&mut self) {
        self.out.extend_from_slice(b"\r\n");
    }

    /// `[limited, limit, remaining, retry after, reset after]` in seconds, as redis-cell answers.
    pub(crate) fn throttle(&mut self, answer: &Answer) {
        let Some(decision) = self.decided(answer) else { return };
        let wait = decision.retry_after.filter(|_| !decision.allowed);
        self.numbers([
            i64::from(!decision.allowed),
            count(decision.limit),
            count(decision.remaining),
            wait.map_or(-1, seconds),
            seconds(decision.reset_after),
        ]);
    }

    /// `[allowed, limit, remaining, retry after, reset after]` in milliseconds. What has no bound, and
    /// what never will be, is -1.
    pub(crate) fn decision(&mut self, answer: &Answer) {
        let Some(decision) = self.decided(answer) else { return };
        self.numbers([
            i64::from(decision.allowed),
            count(decision.limit),
            count(decision.remaining),
            decision.retry_after.map_or(-1, millis),
            millis(decision.reset_after),
        ]);
    }

    /// The decision; if there is none, the reply says why.
    fn decided<'a>(&mut self, answer: &'a Answer) -> Option<&'a Decision> {
        answer.as_ref().inspect_err(|error| self.store_error(error)).ok()
    }

    #[cold]
    fn store_error(&mut self, error: &StoreError) {
        let kind = if error.is_unavailable() { "TGDOWN" } else { "ERR" };
        self.error(format!("{kind} {}", crate::error::in_words(error)).as_bytes());
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

/// Rounded up: who comes back then is not too early.
fn seconds(span: Span) -> i64 {
    whole(span, 1_000_000)
}

fn millis(span: Span) -> i64 {
    whole(span, 1_000)
}

fn whole(span: Span, unit: u64) -> i64 {
    i64::try_from(span.as_micros().div_ceil(unit)).unwrap_or(i64::MAX)
}
