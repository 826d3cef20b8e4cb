//! Replaces the placeholders and variables of the parts: see `lua/README.md`.

use tollgate_core::storage::{
    FADE_DECAY, FADE_FLOOR, ID_TTL, MAX_COUNT, MAX_RESERVATIONS, MAX_SLOTS, RESERVATION_TTL,
};
use tollgate_core::{Act, MAX_ENTRIES, Span};

use super::assemble::{Assembly, Context, no_handle};
use super::records::{MIN_TTL_MS, SLACK_MS, body_bytes_in_lua, tag, tag_number};
use crate::decimal;
use crate::format::{
    ALLOWED, BODY_BYTES, GENERATION_TTL_MS, GROUP_HEAD_BYTES, LEASE_BYTES, MARK_BYTES, MARK_PARTS,
    OVERDRAWN, REMEMBERED, REMEMBERED_RUN, RESERVATIONS_BYTES, ROW_BYTES, SLOT_BYTES, VERSION,
    WINDOWS_NEEDED,
};
use crate::shape::{Idempotency, RuleKind};

/// How long a reservation under a handle of our own may wait for its commit. It counts among the
/// reservations of its key, so that what a crash left behind must not stay for long.
const COMMIT_TTL: Span = Span::from_micros(60_000_000);

impl Assembly<'_> {
    /// Adds a line of a part, with its placeholders and variables replaced.
    pub(super) fn line(&mut self, limit: Context, line: &str) {
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut rest = line;
        while let Some(start) = rest.find(in_word) {
            let (before, from) = rest.split_at(start);
            let (word, mut after) = from.split_at(from.find(|c| !in_word(c)).unwrap_or(from.len()));
            self.out.push_str(before);
            match (word, after.strip_prefix('.')) {
                ("limit" | "subject", Some(field)) => {
                    let length = field.find(|c| !in_word(c)).unwrap_or(field.len());
                    let (name, rest) = field.split_at(length);
                    let variable = match word {
                        "limit" => self.limit_variable(limit, name),
                        _ => subject_variable(limit.subject, name),
                    };
                    self.out.push_str(&variable);
                    after = rest;
                }
                _ => {
                    let value = self.placeholder(limit, word);
                    self.out.push_str(value.as_deref().unwrap_or(word));
                }
            }
            rest = after;
        }
        self.add(rest);
    }

    fn placeholder(&self, limit: Context, name: &str) -> Option<String> {
        let number = self.number(limit, name).or_else(|| self.size_apart(limit, name));
        number
            .map(|number| number.to_string())
            .or_else(|| self.text(limit, name))
            .or_else(|| self.duration(name))
            .or_else(|| self.decimal_text(limit, name))
    }

    /// Placeholders for small numbers.
    fn number(&self, limit: Context, name: &str) -> Option<usize> {
        let subjects = self.shape.subject_count();
        Some(match name {
            "ARGUMENT" => self.argument_of(limit.index),
            "POSITION" => limit.position,
            "SUBJECT_KEY" => limit.subject + 1,
            "ID_KEY" => subjects + 1,
            "GENERATION_KEY"
                if self.shape.runs || self.shape.idempotency == Idempotency::ForgetAll =>
            {
                subjects + 1
            }
            "GENERATION_KEY" => subjects + 2,
            "ACT" => act_number(self.shape.idempotency),
            "MAX_RESERVATIONS" => MAX_RESERVATIONS,
            "MAX_SLOTS" => MAX_SLOTS,
            "MAX_ENTRIES" => MAX_ENTRIES,
            "VERSION" => usize::from(VERSION),
            "WINDOWS_NEEDED" => usize::from(WINDOWS_NEEDED),
            "OVERDRAWN" => usize::from(OVERDRAWN),
            "REMEMBERED" => usize::from(REMEMBERED),
            "REMEMBERED_RUN" => usize::from(REMEMBERED_RUN),
            "ALLOWED" => usize::from(ALLOWED),
            "RUNS_AT" => self.runs_at(),
            "RUN_BYTES" => self.run_bytes(),
            "TAIL_BYTES" if limit.kind == RuleKind::Held => LEASE_BYTES,
            _ => return None,
        })
    }

    /// Placeholders for expressions and strings.
    fn text(&self, limit: Context, name: &str) -> Option<String> {
        let rule = limit.kind.number();
        Some(match name {
            "TAIL_BYTES" => "(7 + count_bytes)".into(),
            // What must fit: the cost, or that of several equal checks.
            "WANTED" if self.shape.runs => "times * cost".into(),
            "WANTED" => "cost".into(),
            // A summary has its tag before it; or all of the reply, if that is known.
            "SUMMARY_FORMAT" if self.summary_is_reply() => "'<BI7BBI7I7I7'".into(),
            "SUMMARY_FORMAT" => "'<BI7I7I7'".into(),
            "SUMMARY_BEGINS" if self.summary_is_reply() => {
                format!("allowed and {ALLOWED} or 0, time, {VERSION}, {}", tag_number(limit))
            }
            "SUMMARY_BEGINS" => tag_number(limit).to_string(),
            "SUMMARIES" => self.summaries(),
            "NO_HANDLE" => no_handle(),
            "WITH_HANDLE" => self.shape.with_handle.to_string(),
            // Whether the limit takes or gives anything; if all do, that need not be asked.
            "TAKES" if self.shape.partial => "cost > 0".into(),
            "TAKES" => "true".into(),
            "LAST" => self.is_last(limit).to_string(),
            "COUNT_DENIED" => self.counts_denied(limit).to_string(),
            // Whether the functions for blocks are defined in any case.
            "NEEDS_BLOCKS" => self.needs_blocks().to_string(),
            // Whether anything of the subject is kept apart, or is going to be.
            "MAY_BE_APART" => self.may_be_apart(limit.subject),
            // Whether what the limit writes is the whole value of its subject.
            "VALUE_SUFFICES" => self.value_suffices(limit.subject),
            "TAG" => format!("'{}'", tag(limit.position, rule)),
            "TAG_WITH_RESERVATIONS" => format!("'{}'", tag(limit.position, rule + 8)),
            "BODY" => self.body(limit),
            "BODY_BYTES" => body_bytes_in_lua(self, limit),
            "ALL_BODY_BYTES" => BODY_BYTES.map(|bytes| bytes.to_string())[1..].join(", "),
            "VERSION_CHAR" => format!("'\\{VERSION}'"),
            // For a commit, the reply of what was reserved came with the argument.
            "KEPT_REPLY" if self.shape.commits.is_some() => "sub(args, rest_at)".into(),
            "KEPT_REPLY" => "sub(args, rest_at) .. reply".into(),
            "MIN_DECAY" | "MAX_DECAY" | "MIN_MINIMUM" | "MAX_MINIMUM" => bound_of_fade(name)?,
            _ => return None,
        })
    }

    /// Placeholders for the sizes of what lies apart from a state.
    fn size_apart(&self, limit: Context, name: &str) -> Option<usize> {
        let sizes = self.options.part_sizes;
        Some(match name {
            "RESERVATIONS_BYTES" => RESERVATIONS_BYTES,
            "ROWS_IN_GROUP" => sizes.rows_in_group,
            "MARK_BYTES" => MARK_BYTES,
            "MARK_PARTS" => MARK_PARTS,
            "ROW_BYTES" => ROW_BYTES,
            "GROUP_HEAD_BYTES" => GROUP_HEAD_BYTES,
            "LEASE_BYTES" => LEASE_BYTES,
            "MAX_INLINE" => sizes.max_inline,
            "MAX_BLOCK" => sizes.max_block,
            "MAX_BLOCKS" => sizes.max_blocks(),
            "ENTRY_BYTES" if limit.kind == RuleKind::Held => LEASE_BYTES,
            "ENTRY_BYTES" => SLOT_BYTES,
            _ => return None,
        })
    }

    /// Placeholders for durations and for amounts that do not fit into `usize` everywhere.
    fn duration(&self, name: &str) -> Option<String> {
        let duration = match name {
            "SLACK_MS" => SLACK_MS,
            "GENERATION_TTL_MS" if self.shape.explicit_time => 2 * MIN_TTL_MS,
            "GENERATION_TTL_MS" => GENERATION_TTL_MS,
            "RESERVATION_TTL" if self.shape.internal_handle => COMMIT_TTL.as_micros(),
            "RESERVATION_TTL" => RESERVATION_TTL.as_micros(),
            "RESERVATION_EXTENSION" => RESERVATION_TTL.as_micros() - COMMIT_TTL.as_micros(),
            "ID_TTL" => ID_TTL.as_micros(),
            "MAX_COUNT" => MAX_COUNT,
            "MAX_SPAN" => Span::MAX.as_micros(),
            "DECIMAL_EPOCH" => decimal::EPOCH,
            "DECIMAL_SPAN" => decimal::SPAN,
            "DECIMAL_MAX_CODE" => decimal::MAX_CODE,
            _ => return None,
        };
        Some(duration.to_string())
    }
}

/// Bounds on the numbers of `ar1` that are read from a state.
fn bound_of_fade(name: &str) -> Option<String> {
    let bound = match name {
        "MIN_DECAY" => FADE_DECAY.start(),
        "MAX_DECAY" => FADE_DECAY.end(),
        "MIN_MINIMUM" => FADE_FLOOR.start(),
        "MAX_MINIMUM" => FADE_FLOOR.end(),
        _ => return None,
    };
    Some(bound.to_string())
}

/// The variable that parts call `subject.name`.
pub(super) fn subject_variable(subject: usize, name: &str) -> String {
    format!("{name}_{}", subject + 1)
}

/// Returns the number of an act among the replies kept under an id.
fn act_number(idempotency: Idempotency) -> usize {
    use Idempotency::{Recall, Remember, Replace};
    let is_it = |act: &Act| [Remember(*act), Recall(*act), Replace(*act)].contains(&idempotency);
    Act::ALL.iter().position(is_it).unwrap_or(Act::ALL.len())
}
