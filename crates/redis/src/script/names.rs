//! What `$name` stands for in the sources.

use std::fmt::Write as _;

use tollgate_core::storage::{MAX_COUNT, MAX_RESERVATIONS, RESERVATION_TTL};
use tollgate_core::{Act, Span};

use super::VERSION;
use super::assemble::{Assembly, LEAST_WHEN_TIMED, Place, SLACK};
use super::kept::{size_of_body, tag};
use crate::call::reply::{AGAIN, OVERDRAWN, REMEMBERED};
use crate::call::shape::{Answers, BODY_BYTES};

/// How long a generation of ids is known, in milliseconds: longer than any answer that belongs to it.
const ERA: u64 = 65_000;

/// How long what was reserved under a mark of our own may wait to be closed. It counts among the
/// reservations of its key, so that what a crash left must not stay for long.
const MARKED: Span = Span::from_micros(60_000_000);

impl Assembly<'_> {
    pub(super) fn value(&mut self, place: Place, name: &str) {
        let (keys, i, count_denied) = (self.shape.groups(), place.i(), self.counts_denied(place));
        let (out, rule) = (&mut self.out, place.kind.rule());
        // Writing to a string cannot fail.
        let _ = match name {
            "i" => write!(out, "{i}"),
            "position" => write!(out, "{}", place.position),
            "g" => write!(out, "{}", place.g()),
            "A" | "tail" => {
                let offset = self.argument_of(place.index);
                write!(self.out, "{offset}")
            }
            "count_denied" => write!(out, "{count_denied}"),
            "tag" => write!(out, "{}", tag(place.position, rule)),
            "tag_noted" => write!(out, "{}", tag(place.position, rule + 8)),
            "size" => write!(out, "{}", size_of_body(place.kind, i, place.g())),
            "sizes" => write!(out, "{}", BODY_BYTES.map(|size| size.to_string())[1..].join(", ")),
            "version" => write!(out, "{VERSION}"),
            "version_char" => write!(out, "\\{VERSION}"),
            "told" if self.shape.closes.is_some() => write!(out, "sub(a, tail)"),
            "told" => write!(out, "sub(a, tail) .. reply"),
            "act" => write!(out, "{}", act_number(self.shape.answers)),
            "id" => write!(out, "{}", keys + 1),
            "generation" if self.shape.answers == Answers::ForgetAll => write!(out, "{}", keys + 1),
            "generation" => write!(out, "{}", keys + 2),
            "slack" => write!(out, "{SLACK}"),
            "era" if self.shape.timed => write!(out, "{}", 2 * LEAST_WHEN_TIMED),
            "era" => write!(out, "{ERA}"),
            "reserved" if self.shape.marks => write!(out, "{}", MARKED.as_micros()),
            "reserved" => write!(out, "{}", RESERVATION_TTL.as_micros()),
            "longer" => write!(out, "{}", RESERVATION_TTL.as_micros() - MARKED.as_micros()),
            "most_counted" => write!(out, "{MAX_COUNT}"),
            "longest" => write!(out, "{}", Span::MAX.as_micros()),
            "most_reserved" => write!(out, "{MAX_RESERVATIONS}"),
            "again" => write!(out, "{AGAIN}"),
            "overdrawn" => write!(out, "{OVERDRAWN}"),
            "remembered" => write!(out, "{REMEMBERED}"),
            _ => write!(out, "${name}"),
        };
    }
}

/// What an act is known by among the answers of an id.
fn act_number(answers: Answers) -> usize {
    let act = |known: &Act| [Answers::Remember(*known), Answers::Recall(*known)].contains(&answers);
    Act::ALL.iter().position(act).unwrap_or(Act::ALL.len())
}
