//! The parts of a script that read what is kept, write it and tell of it.

use std::fmt::Write as _;

use tollgate_core::Act;

use super::VERSION;
use super::assemble::{Assembly, LEAST_WHEN_TIMED, MAX_IN_LOCALS, Place, SLACK};
use crate::call::reply::ALLOWED;
use crate::call::shape::{BODY_BYTES, Kind};

impl Assembly<'_> {
    pub(super) fn read(&mut self, group: usize) {
        let few = self.shape.forms.len() <= MAX_IN_LOCALS;
        for i in self.of_group(group).iter().map(Place::i).filter(|_| few) {
            self.say(&format!("local o{i}, m{i}, r{i}, b{i}, w{i}, x{i}, y{i}, T{i}, U{i}"));
        }
        self.say(&format!("local odd{} = false", group + 1));
        self.section(Place { group, ..self.nowhere() }, "read");
    }

    pub(super) fn write(&mut self) {
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
    pub(super) fn nothing_odd(&self) -> String {
        let odd: Vec<String> = (1..=self.shape.groups()).map(|g| format!("odd{g}")).collect();
        format!("not ({})", odd.join(" or "))
    }

    /// The short way to write, for a check that passed: each limit has a new body.
    pub(super) fn write_plainly_if(&mut self, condition: &str) {
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

    pub(super) fn write_if(&mut self, condition: &str) {
        self.say(&format!("if {condition} then"));
        for group in 0..self.shape.groups() {
            self.section(Place { group, ..self.nowhere() }, "write");
        }
        self.say("end");
    }

    /// Says which states are left.
    pub(super) fn reply(&mut self) {
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
        // What cannot be denied is tried to see whether it would change anything.
        let tried = self.shape.dry && !self.shape.act.can_be_denied();
        let allowed = if tried { "changed" } else { "ok" };
        self.say(&format!("local reply = pack('<BI7', {allowed} and {ALLOWED} or 0, t) .. out"));
    }

    /// Whether what is told of the states is what is kept of them.
    pub(super) fn tells_what_it_wrote(&self) -> bool {
        let short =
            self.shape.only_looks || self.shape.act == Act::Check && !self.any_counts_denied();
        short && self.shape.groups() > 0 && self.counting().iter().all(|at| body_bytes(at.kind) > 0)
    }

    pub(super) fn tell_each(&mut self) {
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

    pub(super) fn at_least(&mut self) {
        if self.shape.timed {
            self.say(&format!("if ttl < {LEAST_WHEN_TIMED} then ttl = {LEAST_WHEN_TIMED} end"));
        }
    }

    /// Where everything lies if each limit has its record and there is nothing else.
    pub(super) fn offsets(&mut self, group: usize) {
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
    pub(super) fn fixed_offsets(&self, group: usize) -> Option<String> {
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
    pub(super) fn positions(&mut self, group: usize) {
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

    pub(super) fn keeps(&mut self, group: usize) {
        if self.shape.act == Act::Reset {
            return;
        }
        for place in self.of_group(group) {
            self.section(place, "keep");
        }
    }
}

pub(super) fn body_bytes(kind: Kind) -> usize {
    BODY_BYTES.get(usize::from(kind.rule())).copied().unwrap_or(0)
}

/// How long the body of a limit is, in Lua.
pub(super) fn size_of_body(kind: Kind, i: usize, g: usize) -> String {
    match body_bytes(kind) {
        0 => format!("4 + unpack('<I4', v{g}, o{i})"),
        size => size.to_string(),
    }
}

/// A tag as it stands in a Lua string.
pub(super) fn tag(position: usize, rule: u8) -> String {
    format!("\\{:03}", position * 16 + usize::from(rule))
}
