//! Puts a script together for a shape.

use tollgate_core::Act;

use super::sections::{find, variant};
use crate::call::reply::OVERDRAWN;
use crate::call::shape::{Answers, Form, Kind, Shape};

/// How many limits have their names in locals.
pub(super) const MAX_IN_LOCALS: usize = 8;
/// How long a state is kept past its reset, in milliseconds.
pub(super) const SLACK: u64 = 1_000;
/// With times passed in nothing is dropped sooner, in milliseconds: a slow run changes nothing.
pub(super) const LEAST_WHEN_TIMED: u64 = 3_600_000;
/// The cost and the time come first in the argument.
pub(crate) const HEAD_BYTES: usize = 11;

/// The text of the script.
pub(super) fn assemble(shape: &Shape) -> String {
    let mut text = Assembly { shape, out: String::new() };
    text.begin();
    for group in 0..shape.groups() {
        text.read(group);
    }
    text.decide();
    text.finish();
    let script = plain(&text.out);
    if shape.forms.len() > MAX_IN_LOCALS { in_a_table(&script) } else { script }
}

/// What Lua calls the names of a limit: see `lua/state.lua` and `lua/acts.lua`.
const NAMES: &str = "omrbwxyTU";

/// Puts the names of all limits in a table, since Lua has no more than two hundred locals.
fn in_a_table(script: &str) -> String {
    let mut out = String::with_capacity(script.len() * 2);
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = script;
    while let Some(start) = rest.find(word) {
        let (before, from) = rest.split_at(start);
        let (name, after) = from.split_at(from.find(|c| !word(c)).unwrap_or(from.len()));
        // What was before is called w0, r0 and so on; limits begin with 1.
        let digits = name.strip_prefix(|first| NAMES.contains(first)).filter(|rest| *rest != "0");
        let of_a_limit = digits.is_some_and(|digits| digits.parse::<usize>().is_ok());
        out.push_str(before);
        out.push_str(if of_a_limit { "X." } else { "" });
        out.push_str(name);
        rest = after;
    }
    out + rest
}

/// Without comments and indents, which Redis would keep.
fn plain(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut out = String::with_capacity(text.len());
    for line in lines.filter(|line| !line.starts_with("--")) {
        out.push_str(line);
        out.push('\n');
    }
    out
}

pub(super) struct Assembly<'s> {
    pub(super) shape: &'s Shape,
    pub(super) out: String,
}

/// What a section is assembled for.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Which of the limits, in the order of the argument.
    pub(super) index: usize,
    /// Where it stands in its policy.
    pub(super) position: usize,
    pub(super) group: usize,
    pub(super) kind: Kind,
}

impl Assembly<'_> {
    /// Adds a line.
    pub(super) fn say(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    pub(super) fn places(&self) -> Vec<Place> {
        self.shape.forms.iter().enumerate().map(|(index, form)| place(index, *form)).collect()
    }

    pub(super) fn of_group(&self, group: usize) -> Vec<Place> {
        self.places().into_iter().filter(|place| place.group == group).collect()
    }

    /// Those that count something.
    pub(super) fn counting(&self) -> Vec<Place> {
        self.places().into_iter().filter(Place::counts).collect()
    }

    pub(super) fn any_counts_denied(&self) -> bool {
        self.shape.act.can_be_denied() && self.shape.forms.iter().any(|form| form.count_denied)
    }

    fn begin(&mut self) {
        self.say("local call, unpack, pack = redis.call, struct.unpack, struct.pack");
        self.say("local sub, byte, format = string.sub, string.byte, string.format");
        self.say("local floor = math.floor");
        self.say("local a = ARGV[1]");
        if self.shape.timed {
            self.say("local n, t = unpack('<I4I7', a)");
        } else {
            self.say(if self.needs_cost() { "local n = unpack('<I4', a)" } else { "local n = 1" });
            self.say("local clock = call('TIME')");
            self.say("local t = clock[1] * 1000000 + clock[2]");
        }
        let tail = self.argument_of(self.shape.forms.len());
        if self.shape.with_handle {
            let (name, more) =
                if self.shape.closes.is_some() { (" name,", "I2c0") } else { ("", "") };
            self.say(&format!("local handle,{name} tail = unpack('<I2c0{more}', a, {tail} + 7)"));
        } else {
            self.say("local handle = ''");
        }
        self.say("local ok, changed, overdrawn = true, false, false");
        if self.shape.forms.len() > MAX_IN_LOCALS {
            self.say("local X = {}");
        }
        match self.shape.answers {
            Answers::Remember(_) | Answers::Recall(_) => self.section(self.nowhere(), "recall"),
            Answers::ForgetAll => self.say("local generation, last, others"),
            Answers::LetBe | Answers::Forget => {}
        }
    }

    /// Whether it must know the cost as a number. A flow that is checked is told what it weighs.
    fn needs_cost(&self) -> bool {
        let flows = self.places().iter().all(|place| place.kind == Kind::Flow);
        !(flows && matches!(self.shape.act, Act::Check | Act::Charge | Act::Peek))
    }

    /// Behind all limits.
    pub(super) fn nowhere(&self) -> Place {
        Place { index: self.shape.forms.len(), position: 0, group: 0, kind: Kind::Unlimited }
    }

    /// Where the argument of a limit begins.
    pub(super) fn argument_of(&self, index: usize) -> usize {
        let before = self.shape.forms.iter().take(index);
        before.fold(HEAD_BYTES, |sum, form| sum.saturating_add(form.kind.argument_bytes())) + 1
    }

    fn decide(&mut self) {
        let act = self.shape.act;
        if self.shape.only_looks {
            return self.each("act peek");
        }
        if self.shape.closes.is_some() {
            self.each("act close");
            return self.say("changed = true");
        }
        // A reservation is noted only if all limits allow it, so that must be known first.
        if act == Act::Reserve && self.any_counts_denied() && self.shape.forms.len() > 1 {
            self.each("act peek");
        }
        for place in self.counting() {
            let counts = act == Act::Check && self.counts_denied(place);
            let name = format!("act {act}{}", if counts { " count-denied" } else { "" });
            self.section(place, &name);
        }
        if self.shape.changes {
            self.say("changed = true");
        }
        if self.any_counts_denied() {
            self.say(&format!("if overdrawn then return pack('<BI7', {OVERDRAWN}, t) end"));
        }
    }

    fn each(&mut self, section: &str) {
        for place in self.counting() {
            self.section(place, section);
        }
    }

    pub(super) fn counts_denied(&self, place: Place) -> bool {
        self.shape.forms.get(place.index).is_some_and(|form| form.count_denied)
    }

    fn finish(&mut self) {
        if !self.shape.only_looks {
            self.take_back_what_was_denied();
        }
        if !self.shape.only_looks && !self.shape.dry {
            self.write();
        }
        self.reply();
        if !self.shape.dry {
            self.note();
        }
        self.say("return reply");
    }

    /// Forgets what limits would have become, if another has denied it.
    fn take_back_what_was_denied(&mut self) {
        if !matches!(self.shape.act, Act::Check | Act::Reserve) {
            return;
        }
        self.say("if not ok then");
        let counting = self.counting();
        for place in &counting {
            if !self.counts_denied(*place) {
                let i = place.i();
                self.say(&format!("b{i}, w{i}, U{i} = nil, nil, T{i}"));
            }
        }
        if !counting.is_empty() {
            self.say("else changed = n > 0");
        }
        self.say("end");
    }

    fn note(&mut self) {
        if self.shape.act == Act::Reset {
            self.section(self.nowhere(), "forget_all");
        }
        match self.shape.answers {
            Answers::Remember(_) => self.section(self.nowhere(), "remember"),
            Answers::Forget => self.section(self.nowhere(), "forget"),
            Answers::LetBe | Answers::Recall(_) | Answers::ForgetAll => {}
        }
    }

    /// Adds a section, with all that it stands for.
    pub(super) fn section(&mut self, place: Place, name: &str) {
        for line in find(place.kind, name).lines() {
            match line.trim().strip_prefix("--+ ") {
                Some(other) => self.include(place, other),
                None => self.line(place, line),
            }
        }
    }

    fn include(&mut self, place: Place, name: &str) {
        let silent = find(place.kind, "tell").is_empty();
        match name {
            "tell_as_is" | "tell_changed" if silent => {}
            "close_note" if self.shape.closes == Some(Act::Reserve) => {
                self.section(place, "rename_note");
            }
            "close_note" => self.section(place, "drop_own_note"),
            "old_end" if !self.asks_for_ends() => {}
            "around" | "late" => self.section(place, &format!("{name} {}", variant(place.kind))),
            "offsets" => self.offsets(place.group),
            "positions" => self.positions(place.group),
            "keeps" => self.keeps(place.group),
            "at_least" => self.at_least(),
            _ => self.section(place, name),
        }
    }

    /// Whether a limit may be left as it was while another is written: then its end is wanted.
    fn asks_for_ends(&self) -> bool {
        !matches!(self.shape.act, Act::Peek | Act::Check | Act::Reserve | Act::Charge)
            || self.any_counts_denied()
    }

    /// Adds a line, with its names put in.
    fn line(&mut self, place: Place, line: &str) {
        let mut parts = line.split('$');
        self.out.push_str(parts.next().unwrap_or(""));
        for part in parts {
            let length = part.find(|c: char| !c.is_ascii_alphabetic() && c != '_');
            let (name, rest) = part.split_at(length.unwrap_or(part.len()));
            self.value(place, name);
            self.out.push_str(rest);
        }
        self.out.push('\n');
    }
}

impl Place {
    /// What its names end with.
    pub(super) fn i(&self) -> usize {
        self.index + 1
    }

    /// What the names of its subject end with.
    pub(super) fn g(&self) -> usize {
        self.group + 1
    }

    pub(super) fn counts(&self) -> bool {
        self.kind != Kind::Unlimited
    }
}

fn place(index: usize, form: Form) -> Place {
    let (position, group) = (usize::from(form.position), usize::from(form.group));
    Place { index, position, group, kind: form.kind }
}
