//! The code of a script that reads records, writes them and replies with them.

use std::fmt::Write as _;

use tollgate_core::Act;

use super::assemble::{Assembly, Context, MAX_IN_LOCALS};
use crate::format::{ALLOWED, BODY_BYTES, VERSION};
use crate::shape::RuleKind;

/// How long a state is kept past its reset, in milliseconds.
pub(super) const SLACK_MS: u64 = 1_000;
/// Least time to live of everything while times are passed in, in milliseconds: a slow run changes nothing.
pub(super) const MIN_TTL_MS: u64 = 3_600_000;

/// The variables of a limit; `lua/README.md` says what they are.
const LIMIT_VARIABLES: [&str; 11] = [
    "body_at",
    "reservations_at",
    "record",
    "apart",
    "new_body",
    "new_value",
    "new_reservations",
    "old_expiry",
    "new_expiry",
    "old_summary",
    "new_summary",
];

/// Variables of a limit that only a script for several checks has: the functions that `lua/runs.lua` defines,
/// and whether anything was taken.
const RUN_VARIABLES: [&str; 7] =
    ["read_cost", "fits", "take", "summarize", "save", "finish", "taken"];

impl Assembly<'_> {
    pub(super) fn read(&mut self, subject: usize) {
        if self.shape.limits.len() <= MAX_IN_LOCALS {
            for limit in self.limits_of(subject) {
                let more: &[&str] = if self.shape.runs { &RUN_VARIABLES } else { &[] };
                let names = LIMIT_VARIABLES.iter().chain(more);
                let mut variables: Vec<String> =
                    names.map(|name| self.limit_variable(limit, name)).collect();
                variables.extend(self.fields(limit));
                self.add(&format!("local {}", variables.join(", ")));
            }
        }
        let s = subject + 1;
        self.add(&format!("local irregular_{s} = false"));
        self.add(&format!("local value_{s}, hashed_{s} = redis.pcall('GET', KEYS[{s}]), false"));
        self.add(&format!("local rest_{s} = ''"));
        self.section(Context { subject, ..self.no_limit() }, "read");
    }

    pub(super) fn write(&mut self) {
        match self.shape.act {
            Act::Reset => self.write_if("true"),
            _ if self.counting().is_empty() => {}
            Act::Check if !self.takes_from_some() => {
                let regular = self.all_regular();
                self.write_regular_if(&format!("allowed and {regular}"));
                self.write_if(&format!("allowed and not ({regular})"));
            }
            Act::Reserve if !self.takes_from_some() => self.write_if("allowed"),
            _ => self.write_changed(),
        }
    }

    /// Writes the subjects that have a changed limit.
    pub(super) fn write_changed(&mut self) {
        for subject in 0..self.shape.subject_count() {
            let counting = self.limits_of(subject).into_iter().filter(Context::counts);
            let changed = counting.map(|limit| {
                let [body, reservations] =
                    ["new_body", "new_reservations"].map(|name| self.limit_variable(limit, name));
                format!("{body} ~= nil or {reservations} ~= nil")
            });
            let changed: Vec<String> = changed.collect();
            if !changed.is_empty() {
                self.add(&format!("if {} then", changed.join(" or ")));
                self.section(Context { subject, ..self.no_limit() }, "write");
                self.add("end");
            }
        }
    }

    /// The condition that the value of every subject is laid out as expected.
    pub(super) fn all_regular(&self) -> String {
        let subjects = 1..=self.shape.subject_count();
        let irregular: Vec<String> = subjects.map(|s| format!("irregular_{s}")).collect();
        format!("not ({})", irregular.join(" or "))
    }

    /// The short way to write, for a check that was allowed: each limit has a new body.
    pub(super) fn write_regular_if(&mut self, condition: &str) {
        self.add(&format!("if {condition} then"));
        for subject in 0..self.shape.subject_count() {
            let s = subject + 1;
            let mut records = String::new();
            self.add("local expiry = 0");
            for limit in self.limits_of(subject).into_iter().filter(Context::counts) {
                let tag = tag(limit.position, limit.kind.number());
                let [body, expiry] =
                    ["new_body", "new_expiry"].map(|name| self.limit_variable(limit, name));
                let glue =
                    if records.is_empty() { format!("'\\{VERSION}") } else { " .. '".into() };
                let _ = write!(records, "{glue}{tag}' .. {body}");
                self.add(&format!("if {expiry} > expiry then expiry = {expiry} end"));
            }
            if !records.is_empty() {
                let value = self.value_or(subject);
                self.add(&format!("local kept = {value}{records}"));
                let keeps_ttl = self.keeps_ttl(subject);
                if let Some(keeps_ttl) = &keeps_ttl {
                    self.add(&format!("if {keeps_ttl} then"));
                    self.section(Context { subject, ..self.no_limit() }, "put_keeping_ttl");
                    self.add("else");
                }
                self.add(&format!("local ttl = (expiry - time) / 1000 + {SLACK_MS}"));
                self.min_ttl();
                self.section(Context { subject, ..self.no_limit() }, "put_value");
                if keeps_ttl.is_some() {
                    self.add("end");
                }
                self.add(&format!("value_{s} = kept"));
            }
        }
        self.add("end");
    }

    /// What a limit has said to stand for the whole value, as the beginning of an expression.
    fn value_or(&self, subject: usize) -> String {
        let limits = self.limits_of(subject).into_iter().filter(Context::counts);
        let values = limits.map(|limit| self.limit_variable(limit, "new_value") + " or ");
        match self.reads_decimal() || self.may_save_value(subject) {
            true => values.collect(),
            false => String::new(),
        }
    }

    /// Whether one limit, whose body is long, writes the whole value of a subject.
    fn may_save_value(&self, subject: usize) -> bool {
        let limits = self.limits_of(subject);
        let mut counting = limits.iter().filter(|limit| limit.counts());
        let is_long = counting.next().is_some_and(|limit| body_bytes(limit.kind) == 0);
        let is_short_way = self.shape.act == Act::Check && !self.takes_from_some();
        is_long && counting.next().is_none() && is_short_way && !self.shape.runs
    }

    /// The condition that it does: the short way is taken for all subjects or for none.
    pub(super) fn value_suffices(&self, subject: usize) -> String {
        if self.may_save_value(subject) { self.all_regular() } else { "false".to_owned() }
    }

    /// The condition that a check leaves a value to expire when it would have before, for rules of which that is
    /// often so: what is added in the same window or slot is needed no longer. When a value expires follows from it,
    /// except while times are passed in.
    fn keeps_ttl(&self, subject: usize) -> Option<String> {
        if !self.may_keep_ttl(subject) {
            return None;
        }
        let same =
            |limit: Context| format!("expiry == {}", self.limit_variable(limit, "old_expiry"));
        let same: Vec<String> = self.counting_of(subject).into_iter().map(same).collect();
        let (same, apart) = (same.join(" or "), self.may_be_apart(subject));
        Some(format!("value_{} and ({same}) and not ({apart})", subject + 1))
    }

    pub(super) fn may_keep_ttl(&self, subject: usize) -> bool {
        let is_short_way = self.shape.act == Act::Check && !self.takes_from_some();
        let of_windows = |limit: &Context| {
            use RuleKind::{Aligned, Calendar, Estimate, Request, Slots};
            matches!(limit.kind, Aligned | Calendar | Request | Slots | Estimate)
        };
        is_short_way
            && !self.shape.runs
            && !self.shape.explicit_time
            && self.counting_of(subject).iter().all(of_windows)
    }

    fn write_if(&mut self, condition: &str) {
        self.add(&format!("if {condition} then"));
        for subject in 0..self.shape.subject_count() {
            self.section(Context { subject, ..self.no_limit() }, "write");
        }
        self.add("end");
    }

    /// Makes the reply: whether it is allowed, the time, and the states that are left.
    pub(super) fn reply(&mut self) {
        if !self.summaries_suffice() {
            self.states();
        }
        // A dry run of these finds out whether they would change anything, and of the others whether they
        // would be allowed.
        let asks_for_change =
            matches!(self.shape.act, Act::Charge | Act::Refund | Act::Reset | Act::Release);
        let would_change = self.shape.dry_run && asks_for_change;
        let allowed = if would_change { "changed" } else { "allowed" };
        let states = match self.summaries_suffice() {
            true => self.all_summaries(),
            false => "states".to_owned(),
        };
        let allowed = format!("{allowed} and {ALLOWED} or 0");
        let mut reply = format!("pack('<BI7', {allowed}, time) .. {states}");
        if let ([limit], true) = (self.counting().as_slice(), self.summary_is_reply()) {
            let summary = self.replied_summary(*limit);
            reply = format!("{summary} or pack('<BI7B', {allowed}, time, {VERSION})");
        }
        self.add(&format!("local reply = {reply}"));
    }

    /// Whether the summary of a check's only limit is made as its reply: a string less to
    /// make, and nothing but this limit decides.
    pub(super) fn summary_is_reply(&self) -> bool {
        let is_plain = self.shape.act == Act::Check && !self.takes_from_some();
        is_plain
            && !(self.shape.runs || self.shape.read_only || self.shape.dry_run)
            && !self.shape.assume_changed
            && self.counting().len() == 1
            && self.summaries_suffice()
    }

    /// Defines `states`: those that are left, or those in the store if nothing is done yet.
    pub(super) fn states(&mut self) {
        self.add(&format!("local states = '\\{VERSION}'"));
        let values_suffice = self.replies_with_values();
        if values_suffice {
            let regular = self.all_regular();
            let values = (1..=self.shape.subject_count()).map(|s| match s {
                1 => format!("(value_1 or '\\{VERSION}')"),
                _ => format!("(value_{s} and sub(value_{s}, 2) or '')"),
            });
            let values = values.collect::<Vec<_>>().join(" .. ");
            self.add(&format!("if {regular} then states = {values} else"));
        }
        self.reply_each();
        if values_suffice {
            self.add("end");
        }
    }

    /// Whether the values of the subjects are what a reply has of the states.
    pub(super) fn replies_with_values(&self) -> bool {
        let as_written =
            self.shape.read_only || self.shape.act == Act::Check && !self.takes_from_some();
        as_written
            && self.shape.subject_count() > 0
            && self.counting().iter().all(|limit| body_bytes(limit.kind) > 0)
    }

    /// Whether the summaries of the limits are all that a reply has of the states.
    fn summaries_suffice(&self) -> bool {
        let counting = self.counting();
        let all_long = counting.iter().all(|limit| body_bytes(limit.kind) == 0);
        !counting.is_empty() && all_long && self.shape.act != Act::Reset
    }

    /// These, as one expression.
    fn all_summaries(&self) -> String {
        let summary = |limit: &Context| format!(" .. ({} or '')", self.replied_summary(*limit));
        let all: String = self.counting().iter().map(summary).collect();
        format!("'\\{VERSION}'{all}")
    }

    fn replied_summary(&self, limit: Context) -> String {
        let name = if self.shape.read_only { "old_summary" } else { "new_summary" };
        self.limit_variable(limit, name)
    }

    pub(super) fn reply_each(&mut self) {
        let limits = if self.shape.act == Act::Reset { Vec::new() } else { self.counting() };
        for limit in limits {
            let (bytes, s) = (body_bytes(limit.kind), limit.subject + 1);
            let body = match bytes {
                0 => self.replied_summary(limit),
                _ => self.limit_variable(limit, "new_body"),
            };
            self.add(&format!("do local body = {body}"));
            if bytes > 0 {
                let at = self.limit_variable(limit, "body_at");
                let unchanged = format!("sub(value_{s}, {at}, {at} + {})", bytes - 1);
                self.add(&format!("if body == nil then body = {at} and {unchanged} end"));
            }
            // A summary has its tag already.
            let tag = match bytes {
                0 if !self.shape.runs => String::new(),
                _ => format!("'{}' .. ", tag(limit.position, limit.kind.number())),
            };
            self.add(&format!("if body then states = states .. {tag}body end end"));
        }
    }

    pub(super) fn min_ttl(&mut self) {
        if self.shape.explicit_time {
            self.add(&format!("if ttl < {MIN_TTL_MS} then ttl = {MIN_TTL_MS} end"));
        }
    }

    /// Gives a record to the limit it belongs to.
    pub(super) fn assign_record(&mut self, subject: usize) {
        let s = subject + 1;
        let mut word = "if";
        for limit in self.limits_of(subject) {
            let (position, rule) = (limit.position, limit.kind.number());
            let [whole, body, reservations] = ["record", "body_at", "reservations_at"]
                .map(|name| self.limit_variable(limit, name));
            self.add(&format!("{word} position == {position} then {whole} = record"));
            self.add(&format!(
                "if rule == {rule} then {body}, {reservations} = body, reservations end"
            ));
            word = "elseif";
        }
        self.add(&format!("else rest_{s} = rest_{s} .. record end"));
    }

    pub(super) fn keep_all(&mut self, subject: usize) {
        if self.shape.act == Act::Reset {
            return;
        }
        for limit in self.limits_of(subject) {
            self.section(limit, "keep");
        }
    }

    pub(super) fn collect_parts(&mut self, subject: usize) {
        for limit in self.limits_of(subject).into_iter().filter(Context::counts) {
            self.section(limit, "collect_part");
        }
    }

    /// The condition that anything of a subject is kept apart, or is going to be.
    pub(super) fn may_be_apart(&self, subject: usize) -> String {
        let limits = self.limits_of(subject).into_iter().filter(Context::counts);
        let apart = limits.map(|limit| format!(" or {}", self.limit_variable(limit, "apart")));
        format!("hashed_{}{}", subject + 1, apart.collect::<String>())
    }
}

pub(super) fn body_bytes(kind: RuleKind) -> usize {
    BODY_BYTES.get(usize::from(kind.number())).copied().unwrap_or(0)
}

/// Returns how long the body of a limit is, as an expression in Lua.
pub(super) fn body_bytes_in_lua(assembly: &Assembly<'_>, limit: Context) -> String {
    match body_bytes(limit.kind) {
        0 => {
            let at = assembly.limit_variable(limit, "body_at");
            format!("4 + unpack('<I4', value_{}, {at})", limit.subject + 1)
        }
        bytes => bytes.to_string(),
    }
}

pub(super) fn tag_number(limit: Context) -> usize {
    limit.position * 16 + usize::from(limit.kind.number())
}

/// Returns a tag as it stands in a Lua string.
pub(super) fn tag(position: usize, rule: u8) -> String {
    format!("\\{:03}", position * 16 + usize::from(rule))
}
