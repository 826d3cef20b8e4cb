//! Puts a script together for a shape.

use tollgate_core::Act;

use super::ScriptOptions;
use super::sections::{find, variant};
use crate::format::{HASH_BYTES, HEAD_BYTES, LAPSED, OVERDRAWN};
use crate::shape::{Idempotency, LimitShape, RuleKind, Shape};

/// Maximum number of limits whose variables are locals. Lua has no more than two hundred locals, so that the
/// variables of more limits are fields of a table.
pub(super) const MAX_IN_LOCALS: usize = 3;

/// The handle of what nothing can find again, as a string in Lua.
pub(super) fn no_handle() -> String {
    format!("'{}'", "\\0".repeat(HASH_BYTES))
}

/// Returns the text of the script, with indents and long names.
pub(super) fn assemble(shape: &Shape, options: &ScriptOptions) -> String {
    let mut assembly = Assembly { shape, options, out: String::new() };
    assembly.begin();
    if !shape.runs {
        assembly.recall();
    }
    for subject in 0..shape.subject_count() {
        assembly.read(subject);
    }
    if shape.runs {
        assembly.runs();
    } else {
        assembly.return_remembered();
        assembly.decide();
        assembly.finish();
    }
    assembly.out
}

pub(super) struct Assembly<'s> {
    pub(super) shape: &'s Shape,
    pub(super) options: &'s ScriptOptions,
    pub(super) out: String,
}

/// The limit that a section is assembled for.
#[derive(Clone, Copy)]
pub(super) struct Context {
    /// Index of the limit, in the order of the argument.
    pub(super) index: usize,
    /// Position of the limit in its policy.
    pub(super) position: usize,
    /// Index of the subject that it counts.
    pub(super) subject: usize,
    pub(super) kind: RuleKind,
}

impl Context {
    fn new(index: usize, limit: LimitShape) -> Context {
        let (position, subject) = (usize::from(limit.position), usize::from(limit.subject));
        Context { index, position, subject, kind: limit.kind }
    }

    pub(super) fn counts(&self) -> bool {
        self.kind != RuleKind::Unlimited
    }

    fn gives_leases(&self) -> bool {
        self.kind == RuleKind::Held
    }
}

impl Assembly<'_> {
    /// Adds a line of code.
    pub(super) fn add(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    pub(super) fn limits(&self) -> Vec<Context> {
        let limits = self.shape.limits.iter().enumerate();
        limits.map(|(index, limit)| Context::new(index, *limit)).collect()
    }

    pub(super) fn limits_of(&self, subject: usize) -> Vec<Context> {
        self.limits().into_iter().filter(|limit| limit.subject == subject).collect()
    }

    /// The limits of a subject that count something.
    pub(super) fn counting_of(&self, subject: usize) -> Vec<Context> {
        self.limits_of(subject).into_iter().filter(Context::counts).collect()
    }

    /// The limits that count something.
    pub(super) fn counting(&self) -> Vec<Context> {
        self.limits().into_iter().filter(Context::counts).collect()
    }

    pub(super) fn any_counts_denied(&self) -> bool {
        self.shape.act.can_be_denied() && self.shape.limits.iter().any(|limit| limit.count_denied)
    }

    /// The variable that parts call `limit.name`.
    pub(super) fn limit_variable(&self, limit: Context, name: &str) -> String {
        let table = if self.shape.limits.len() > MAX_IN_LOCALS { "limits." } else { "" };
        format!("{table}{name}_{}", limit.index + 1)
    }

    fn begin(&mut self) {
        self.add("local spread = unpack");
        self.add("local call, unpack, pack = redis.call, struct.unpack, struct.pack");
        // Only what most checks call: naming a function takes as long as two calls of it gain.
        self.add("local sub, byte = string.sub, string.byte");
        self.add("local args = ARGV[1]");
        if self.shape.explicit_time {
            self.add("local time = unpack('<I7', args)");
        } else {
            self.add("local clock = call('TIME')");
            self.add("local time = clock[1] * 1000000 + clock[2]");
        }
        let end = self.argument_of(self.shape.limits.len());
        if self.shape.with_handle {
            let (new_handle, more) =
                if self.shape.commits.is_some() { (" new_handle,", "I2c0") } else { ("", "") };
            self.add(&format!(
                "local handle,{new_handle} rest_at = unpack('<I2c0{more}', args, {end})"
            ));
        } else {
            self.add(&format!("local handle = {}", no_handle()));
        }
        self.add("local allowed, changed, overdrawn = true, false, false");
        if self.shape.limits.len() > MAX_IN_LOCALS {
            self.add("local limits = {}");
        }
        if !self.counting().is_empty() {
            // Functions, which `lua/apart.lua` makes where they are needed first.
            self.add("local read_part, change_part, damaged");
        }
    }

    fn recall(&mut self) {
        match self.shape.idempotency {
            Idempotency::Remember(_) | Idempotency::Recall(_) | Idempotency::Replace(_) => {
                if self.shape.recalls_leases() {
                    self.add("local remembered");
                }
                self.section(self.no_limit(), "recall");
                if self.shape.act == Act::Reset {
                    self.section(self.no_limit(), "check_generation");
                }
            }
            Idempotency::ForgetAll => self.section(self.no_limit(), "read_generation"),
            Idempotency::Ignore | Idempotency::Forget => {}
        }
    }

    /// Returns the reply that is kept under the id of an operation that takes leases, if they are still held.
    fn return_remembered(&mut self) {
        if !self.shape.recalls_leases() {
            return;
        }
        self.add("if remembered then\nlocal lapsed = false");
        for limit in self.counting() {
            self.section(limit, "still_held");
        }
        self.add("if not lapsed then return remembered end");
        if self.shape.dry_run {
            self.add(&format!("return pack('<BI7', {LAPSED}, time)"));
        }
        self.add("end");
    }

    /// Whether a flow needs its cost as a number. For these acts it is enough to know in how many ticks the
    /// cost drains.
    fn needs_cost(&self) -> bool {
        self.shape.partial
            || self.shape.runs
            || !matches!(self.shape.act, Act::Check | Act::Charge | Act::Peek)
    }

    /// Whether an operation nearly always calls the functions for blocks. One that adds to the newest entries does not.
    pub(super) fn needs_blocks(&self) -> bool {
        !matches!(self.shape.act, Act::Check | Act::Charge | Act::Peek)
    }

    /// A context for sections that belong to no limit; its argument is what follows all limits.
    pub(super) fn no_limit(&self) -> Context {
        let index = self.shape.limits.len();
        Context { index, position: 0, subject: 0, kind: RuleKind::Unlimited }
    }

    /// Returns where the argument of a limit begins.
    pub(super) fn argument_of(&self, index: usize) -> usize {
        let before = self.shape.limits.iter().take(index);
        let bytes =
            |sum: usize, limit: &LimitShape| sum.saturating_add(limit.kind.argument_bytes());
        before.fold(HEAD_BYTES, bytes) + 1
    }

    fn decide(&mut self) {
        let act = self.shape.act;
        if self.shape.read_only {
            self.for_each_limit("act peek");
            return self.assume_changed();
        }
        if self.shape.commits.is_some() {
            self.for_each_limit("act commit");
            return self.add("changed = true");
        }
        // A reservation is added, and a lease held, only if all limits allow it, so that must be known first.
        let may_hold = act == Act::Reserve || self.counting().iter().any(Context::gives_leases);
        if may_hold && self.any_counts_denied() && self.shape.limits.len() > 1 {
            self.for_each_limit("act peek");
        }
        for limit in self.counting() {
            let counts = act == Act::Check && self.counts_denied(limit);
            let name = format!("act {act}{}", if counts { " count-denied" } else { "" });
            self.section(limit, &name);
        }
        self.assume_changed();
        if self.any_counts_denied() {
            self.add(&format!("if overdrawn then return pack('<BI7', {OVERDRAWN}, time) end"));
        }
    }

    /// Sees to it that the reply is kept, if another slot changes.
    fn assume_changed(&mut self) {
        match self.shape.assume_changed {
            // Whether it found what it acts on is for this slot to say.
            true if self.shape.act.is_follow_up() => self.add("changed = true"),
            true => self.add("allowed, changed = true, true"),
            false => {}
        }
    }

    fn for_each_limit(&mut self, section: &str) {
        for limit in self.counting() {
            self.section(limit, section);
        }
    }

    /// Whether no limit after this one decides.
    pub(super) fn is_last(&self, limit: Context) -> bool {
        self.counting().last().is_some_and(|last| last.index == limit.index)
    }

    pub(super) fn counts_denied(&self, limit: Context) -> bool {
        self.shape.limits.get(limit.index).is_some_and(|limit| limit.count_denied)
    }

    fn finish(&mut self) {
        if !self.shape.read_only {
            self.undo_denied();
        }
        if !self.shape.read_only && !self.shape.dry_run {
            self.write();
        }
        self.reply();
        if !self.shape.dry_run {
            self.keep_reply();
        }
        self.add("return reply");
    }

    /// Drops the new states of limits that allowed the operation, if another limit has not.
    fn undo_denied(&mut self) {
        let undone = match self.shape.act {
            Act::Check | Act::Reserve => {
                let all = self.counting().into_iter();
                all.filter(|limit| !self.counts_denied(*limit)).collect()
            }
            Act::Renew => self.counting(),
            Act::Release => return self.undo_empty_release(),
            _ => return,
        };
        self.add("if not allowed then");
        for limit in undone {
            let [body, reservations, new, old] =
                ["new_body", "new_reservations", "new_summary", "old_summary"]
                    .map(|name| self.limit_variable(limit, name));
            self.add(&format!("{body}, {reservations}, {new} = nil, nil, {old}"));
        }
        self.add("end");
    }

    /// Keeps the reservations that a release has dropped, if it found no lease in any limit.
    fn undo_empty_release(&mut self) {
        self.add("if not changed then");
        for limit in self.counting() {
            let reservations = self.limit_variable(limit, "new_reservations");
            self.add(&format!("{reservations} = nil"));
        }
        self.add("end");
    }

    fn keep_reply(&mut self) {
        if self.shape.act == Act::Reset {
            self.section(self.no_limit(), "forget_all");
        }
        match self.shape.idempotency {
            Idempotency::Remember(_) | Idempotency::Replace(_) => {
                self.section(self.no_limit(), "remember");
            }
            Idempotency::Forget => self.section(self.no_limit(), "forget"),
            Idempotency::Ignore | Idempotency::Recall(_) | Idempotency::ForgetAll => {}
        }
    }

    /// Adds a section, with the sections that it includes.
    pub(super) fn section(&mut self, limit: Context, name: &str) {
        for line in find(limit.kind, name).lines() {
            match line.trim().strip_prefix("--") {
                None => self.line(limit, line),
                Some(comment) => {
                    if let Some(other) = comment.strip_prefix("+ ") {
                        self.include(limit, other);
                    }
                }
            }
        }
    }

    fn include(&mut self, limit: Context, name: &str) {
        let has_summary = !find(limit.kind, "summarize").is_empty();
        match name {
            "summarize_old" | "summarize_untaken" | "summarize_new" if !has_summary => {}
            "commit_reservation" if self.shape.commits == Some(Act::Reserve) => {
                self.section(limit, "rename_reservation");
            }
            "commit_reservation" => self.section(limit, "drop_own_reservation"),
            "cap_reservation_of_new_handle" if self.shape.commits == Some(Act::Reserve) => {}
            "old_expiry" if !self.needs_old_expiry() && !self.may_keep_ttl(limit.subject) => {}
            "read_cost" if !self.needs_cost() => {}
            "expand_decimal" if self.reads_decimal() || !self.may_be_decimal(limit.subject) => {}
            "expand_unexpected_decimal" if self.may_be_decimal(limit.subject) => {}
            "expand_unexpected_decimal" => self.section(limit, "expand_decimal"),
            "save_decimal" if !self.may_be_decimal(limit.subject) => {}
            "read_body" if limit.kind == RuleKind::Flow && self.reads_decimal() => {
                self.section(limit, "read_body or_decimal");
            }
            "window_numbers" | "window_now" | "charge_window" => {
                self.section(limit, &format!("{name} {}", variant(limit.kind)));
            }
            "read_irregular" => self.read_irregular(limit.subject),
            "read_unread" => self.read_unread(limit.subject),
            "expected_layout" => self.expected_layout(limit.subject),
            "assign_record" => self.assign_record(limit.subject),
            "keep_all" => self.keep_all(limit.subject),
            "collect_parts" => self.collect_parts(limit.subject),
            "min_ttl" => self.min_ttl(),
            "read_costs" => self.read_costs(),
            "take_all" => self.take_all(),
            "save_all" => self.call_each("save"),
            "summarize_all" => self.summarize_all(),
            "recall_run" | "remember_run" if !self.has_ids() => {}
            "found_reply" => self.section(limit, self.found_reply()),
            _ => self.section(limit, name),
        }
    }

    /// The section for a reply that is kept under the id.
    fn found_reply(&self) -> &'static str {
        match self.shape.idempotency {
            Idempotency::Replace(_) => "found_reply to_replace",
            _ if self.shape.recalls_leases() => "found_reply of_leases",
            _ => "found_reply",
        }
    }

    /// Whether a limit may stay as it was while another is written: then its expiry is needed.
    fn needs_old_expiry(&self) -> bool {
        !matches!(self.shape.act, Act::Peek | Act::Check | Act::Reserve | Act::Charge)
            || self.shape.runs
            || self.takes_from_some()
    }

    /// Whether an operation that takes may do so from some limits only.
    pub(super) fn takes_from_some(&self) -> bool {
        self.shape.partial || self.any_counts_denied()
    }
}
