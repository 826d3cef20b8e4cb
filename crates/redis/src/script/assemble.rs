//! Puts a script together for a shape.

use std::fmt::Write as _;

use tollgate_core::Act;

use super::VERSION;
use super::sections::{find, variant};
use crate::reply::{AGAIN, ALLOWED, OVERDRAWN, REMEMBERED};
use crate::shape::{Answers, BODY_BYTES, Form, Kind, Shape};

/// How long a state is kept past its reset, in milliseconds.
const SLACK: u64 = 1_000;
/// With times passed in nothing is dropped sooner, in milliseconds: a slow run changes nothing.
const LEAST_WHEN_TIMED: u64 = 3_600_000;
/// How long a generation of ids is known, in milliseconds: longer than any answer that belongs to it.
const ERA: u64 = 65_000;
/// How long a reservation can be settled, in microseconds, and how many one key can have open under
/// one limit: as the core says.
const RESERVED: u64 = 3_600_000_000;
const MOST_RESERVED: usize = 1_024;
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
    plain(&text.out)
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

struct Assembly<'s> {
    shape: &'s Shape,
    out: String,
}

/// What a section is assembled for.
#[derive(Clone, Copy)]
struct Place {
    /// Which of the limits, in the order of the argument.
    index: usize,
    /// Where it stands in its policy.
    position: usize,
    group: usize,
    kind: Kind,
}

impl Assembly<'_> {
    /// Adds a line.
    fn say(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn places(&self) -> Vec<Place> {
        self.shape.forms.iter().enumerate().map(|(index, form)| place(index, *form)).collect()
    }

    fn of_group(&self, group: usize) -> Vec<Place> {
        self.places().into_iter().filter(|place| place.group == group).collect()
    }

    /// Those that count something.
    fn counting(&self) -> Vec<Place> {
        self.places().into_iter().filter(Place::counts).collect()
    }

    fn any_counts_denied(&self) -> bool {
        self.shape.act.asks() && self.shape.forms.iter().any(|form| form.count_denied)
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
            let line = format!("local handle, tail = unpack('<I2c0', a, {tail} + 7)");
            self.say(&line);
        } else {
            self.say("local handle = ''");
        }
        self.say("local ok, changed, overdrawn = true, false, false");
        match self.shape.answers {
            Answers::Remember(_) => self.section(self.nowhere(), "recall"),
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
    fn nowhere(&self) -> Place {
        Place { index: self.shape.forms.len(), position: 0, group: 0, kind: Kind::Unlimited }
    }

    /// Where the argument of a limit begins.
    fn argument_of(&self, index: usize) -> usize {
        let before = self.shape.forms.iter().take(index);
        before.fold(HEAD_BYTES, |sum, form| sum.saturating_add(form.kind.argument_bytes())) + 1
    }

    fn read(&mut self, group: usize) {
        for i in self.of_group(group).iter().map(Place::i) {
            self.say(&format!("local o{i}, m{i}, r{i}, b{i}, w{i}, x{i}, y{i}, T{i}, U{i}"));
        }
        self.say(&format!("local odd{} = false", group + 1));
        self.section(Place { group, ..self.nowhere() }, "read");
    }

    fn decide(&mut self) {
        let act = self.shape.act;
        if self.shape.only_looks {
            return self.each("act peek");
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
        if self.any_counts_denied() {
            self.say(&format!("if overdrawn then return pack('<BI7', {OVERDRAWN}, t) end"));
        }
    }

    fn each(&mut self, section: &str) {
        for place in self.counting() {
            self.section(place, section);
        }
    }

    fn counts_denied(&self, place: Place) -> bool {
        self.shape.forms.get(place.index).is_some_and(|form| form.count_denied)
    }

    fn finish(&mut self) {
        if !self.shape.only_looks {
            self.take_back_what_was_denied();
            self.write();
        }
        self.reply();
        self.note();
        self.say("return reply");
    }

    fn write(&mut self) {
        let changed = self.counting();
        let changed = changed.iter().map(|at| format!("b{0} ~= nil or w{0} ~= nil", at.i()));
        let changed = changed.collect::<Vec<_>>().join(" or ");
        match self.shape.act {
            Act::Reset => self.write_if("true"),
            _ if changed.is_empty() => {}
            Act::Check if !self.any_counts_denied() => {
                let plain = self.nothing_odd();
                self.write_plainly_if(&format!("ok and {plain}"));
                self.write_if(&format!("ok and not ({plain})"));
            }
            Act::Reserve if !self.any_counts_denied() => self.write_if("ok"),
            _ => self.write_if(&changed),
        }
    }

    /// That every record of every subject is where it was looked for, and there is nothing else.
    fn nothing_odd(&self) -> String {
        let odd: Vec<String> = (1..=self.shape.groups()).map(|g| format!("odd{g}")).collect();
        format!("not ({})", odd.join(" or "))
    }

    /// The short way to write, for a check that passed: each limit has a new body.
    fn write_plainly_if(&mut self, condition: &str) {
        self.say(&format!("if {condition} then"));
        for group in 0..self.shape.groups() {
            let (g, places) = (group + 1, self.of_group(group));
            let mut records = String::new();
            self.say("local till = 0");
            for place in places.iter().filter(|place| place.counts()) {
                let (i, tag) = (place.i(), tag(place.position, place.kind.rule()));
                let glue =
                    if records.is_empty() { format!("'\\{VERSION}") } else { " .. '".into() };
                let _ = write!(records, "{glue}{tag}' .. b{i}");
                self.say(&format!("if y{i} > till then till = y{i} end"));
            }
            if !records.is_empty() {
                self.say(&format!("v{g} = {records}"));
                self.say(&format!("local ttl = (till - t) / 1000 + {SLACK}"));
                self.at_least();
                self.say(&format!("call('PSETEX', KEYS[{g}], format('%d', ttl), v{g})"));
            }
        }
        self.say("end");
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

    fn write_if(&mut self, condition: &str) {
        self.say(&format!("if {condition} then"));
        for group in 0..self.shape.groups() {
            self.section(Place { group, ..self.nowhere() }, "write");
        }
        self.say("end");
    }

    /// Says which states are left.
    fn reply(&mut self) {
        self.say(&format!("local out = '\\{VERSION}'"));
        let short = self.tells_what_it_wrote();
        if short {
            let plain = self.nothing_odd();
            let values = (1..=self.shape.groups()).map(|g| match g {
                1 => format!("(v1 or '\\{VERSION}')"),
                _ => format!("(v{g} and sub(v{g}, 2) or '')"),
            });
            let values = values.collect::<Vec<_>>().join(" .. ");
            self.say(&format!("if {plain} then out = {values} else"));
        }
        self.tell_each();
        if short {
            self.say("end");
        }
        self.say(&format!("local reply = pack('<BI7', ok and {ALLOWED} or 0, t) .. out"));
    }

    /// Whether what is told of the states is what is kept of them.
    fn tells_what_it_wrote(&self) -> bool {
        let short =
            self.shape.only_looks || self.shape.act == Act::Check && !self.any_counts_denied();
        short && self.shape.groups() > 0 && self.counting().iter().all(|at| body_bytes(at.kind) > 0)
    }

    fn tell_each(&mut self) {
        let told = if self.shape.act == Act::Reset { Vec::new() } else { self.counting() };
        for place in told {
            let (i, g) = (place.i(), place.g());
            let size = body_bytes(place.kind);
            let told = match size {
                0 if self.shape.only_looks => format!("T{i}"),
                0 => format!("U{i}"),
                _ => format!("b{i}"),
            };
            self.say(&format!("do local body = {told}"));
            if size > 0 {
                let as_it_was = format!("sub(v{g}, o{i}, o{i} + {})", size - 1);
                self.say(&format!("if body == nil then body = o{i} and {as_it_was} end"));
            }
            let tag = tag(place.position, place.kind.rule());
            self.say(&format!("if body then out = out .. '{tag}' .. body end end"));
        }
    }

    fn note(&mut self) {
        if self.shape.act == Act::Reset {
            self.section(self.nowhere(), "forget_all");
        }
        match self.shape.answers {
            Answers::Remember(_) => self.section(self.nowhere(), "remember"),
            Answers::Forget => self.section(self.nowhere(), "forget"),
            Answers::LetBe | Answers::ForgetAll => {}
        }
    }

    /// Adds a section, with all that it stands for.
    fn section(&mut self, place: Place, name: &str) {
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

    fn at_least(&mut self) {
        if self.shape.timed {
            self.say(&format!("if ttl < {LEAST_WHEN_TIMED} then ttl = {LEAST_WHEN_TIMED} end"));
        }
    }

    /// Where everything lies if each limit has its record and there is nothing else.
    fn offsets(&mut self, group: usize) {
        let g = group + 1;
        if let Some(short) = self.fixed_offsets(group) {
            return self.say(&short);
        }
        self.say(&format!("local place = 2\nodd{g} = byte(v{g}) ~= {VERSION}"));
        for place in self.of_group(group).into_iter().filter(Place::counts) {
            let (i, tag) = (place.i(), place.position * 16 + usize::from(place.kind.rule()));
            let size = size_of_body(place.kind, i, g);
            self.say(&format!(
                "if not odd{g} and byte(v{g}, place) == {tag} then o{i} = place + 1 \
                 place = o{i} + {size} else odd{g} = true end"
            ));
        }
        self.say(&format!("if place ~= #v{g} + 1 then odd{g} = true end"));
    }

    /// The same where no body says its size itself.
    fn fixed_offsets(&self, group: usize) -> Option<String> {
        let g = group + 1;
        let places: Vec<Place> = self.of_group(group).into_iter().filter(Place::counts).collect();
        let mut place = 2;
        let (mut tags, mut offsets) = (format!("byte(v{g}) == {VERSION}"), String::new());
        for at in places {
            let size = Some(body_bytes(at.kind)).filter(|size| *size > 0)?;
            let tag = at.position * 16 + usize::from(at.kind.rule());
            let _ = write!(tags, " and byte(v{g}, {place}) == {tag}");
            let _ = write!(offsets, "o{} = {} ", at.i(), place + 1);
            place += 1 + size;
        }
        let size = place - 1;
        Some(format!("if #v{g} == {size} and {tags} then {offsets} else odd{g} = true end"))
    }

    /// Gives a record to the limit it belongs to.
    fn positions(&mut self, group: usize) {
        let g = group + 1;
        let mut word = "if";
        for place in self.of_group(group) {
            let (i, position, rule) = (place.i(), place.position, place.kind.rule());
            self.say(&format!("{word} position == {position} then r{i} = record"));
            self.say(&format!("if rule == {rule} then o{i}, m{i} = body, notes end"));
            word = "elseif";
        }
        self.say(&format!("else rest{g} = rest{g} .. record end"));
    }

    fn keeps(&mut self, group: usize) {
        if self.shape.act == Act::Reset {
            return;
        }
        for place in self.of_group(group) {
            self.section(place, "keep");
        }
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

    fn value(&mut self, place: Place, name: &str) {
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
            "act" => write!(out, "{}", act_number(self.shape.answers)),
            "id" => write!(out, "{}", keys + 1),
            "generation" if self.shape.answers == Answers::ForgetAll => write!(out, "{}", keys + 1),
            "generation" => write!(out, "{}", keys + 2),
            "slack" => write!(out, "{SLACK}"),
            "era" if self.shape.timed => write!(out, "{}", 2 * LEAST_WHEN_TIMED),
            "era" => write!(out, "{ERA}"),
            "reserved" => write!(out, "{RESERVED}"),
            "most_reserved" => write!(out, "{MOST_RESERVED}"),
            "again" => write!(out, "{AGAIN}"),
            "overdrawn" => write!(out, "{OVERDRAWN}"),
            "remembered" => write!(out, "{REMEMBERED}"),
            _ => write!(out, "${name}"),
        };
    }
}

impl Place {
    /// What its names end with.
    fn i(&self) -> usize {
        self.index + 1
    }

    /// What the names of its subject end with.
    fn g(&self) -> usize {
        self.group + 1
    }

    fn counts(&self) -> bool {
        self.kind != Kind::Unlimited
    }
}

fn place(index: usize, form: Form) -> Place {
    let (position, group) = (usize::from(form.position), usize::from(form.group));
    Place { index, position, group, kind: form.kind }
}

fn body_bytes(kind: Kind) -> usize {
    BODY_BYTES.get(usize::from(kind.rule())).copied().unwrap_or(0)
}

/// How long the body of a limit is, in Lua.
fn size_of_body(kind: Kind, i: usize, g: usize) -> String {
    match body_bytes(kind) {
        0 => format!("4 + unpack('<I4', v{g}, o{i})"),
        size => size.to_string(),
    }
}

/// A tag as it stands in a Lua string.
fn tag(position: usize, rule: u8) -> String {
    format!("\\{:03}", position * 16 + usize::from(rule))
}

/// What an act is known by among the answers of an id.
fn act_number(answers: Answers) -> usize {
    let act = |known: &Act| answers == Answers::Remember(*known);
    Act::ALL.iter().position(act).unwrap_or(Act::ALL.len())
}
