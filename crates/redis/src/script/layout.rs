//! The code of a script that finds the records in a value, and reads those of a fixed size.

use std::fmt::Write as _;

use super::assemble::{Assembly, Context};
use super::records::{body_bytes, body_bytes_in_lua, tag_number};
use crate::format::VERSION;

/// Maximum number of limits whose bodies are read in one step. The variables of more, and these numbers, would be more
/// locals than Lua has.
const MAX_WITH_FIELDS: usize = 2;

/// The numbers in the body of each rule, as `struct` reads them, by the number of the rule. None for those that
/// begin with their size.
const BODY_NUMBERS: [&[&str]; 8] = [
    &[],
    &["I7", "I4", "I7", "I4"],
    &["I7", "I7", "I4", "I7"],
    &["I7", "I7", "I7"],
    &[],
    &["I7", "I7", "I7", "I7"],
    &["d", "I7", "d", "I7", "d"],
    &[],
];

impl Assembly<'_> {
    /// Finds the bodies in a value that has one record without reservations for each limit, and nothing
    /// else. Any other value is irregular.
    pub(super) fn expected_layout(&mut self, subject: usize) {
        let known = self.fixed_layout(subject).or_else(|| self.sized_layout(subject));
        if let Some(known) = known {
            return self.add(&known);
        }
        let s = subject + 1;
        self.add(&format!("local place = 2\nirregular_{s} = byte(value_{s}) ~= {VERSION}"));
        for limit in self.counting_of(subject) {
            let (at, tag) = (self.limit_variable(limit, "body_at"), tag_number(limit));
            let bytes = body_bytes_in_lua(self, limit);
            self.add(&format!(
                "if not irregular_{s} and byte(value_{s}, place) == {tag} then\n\
                 {at} = place + 1\nplace = {at} + {bytes}\nelse irregular_{s} = true end"
            ));
        }
        self.add(&format!("if place ~= #value_{s} + 1 then irregular_{s} = true end"));
    }

    /// The same where no body begins with its size, so that all places are known beforehand. If the numbers of the
    /// bodies have variables, they are read in one step.
    fn fixed_layout(&self, subject: usize) -> Option<String> {
        if !self.is_fixed(subject) {
            return None;
        }
        let s = subject + 1;
        let (mut place, mut numbers) = (1, String::from("B"));
        let (mut tags, mut names) = (vec![(place, VERSION.into())], vec![tag_at(place)]);
        let mut places = String::new();
        for limit in self.counting_of(subject) {
            place = if place == 1 { 2 } else { place };
            tags.push((place, tag_number(limit)));
            names.push(tag_at(place));
            names.extend(self.fields(limit));
            numbers += &format!("B{}", numbers_of(limit).concat());
            let _ = writeln!(places, "{} = {}", self.limit_variable(limit, "body_at"), place + 1);
            place += 1 + body_bytes(limit.kind);
        }
        let read = match self.has_fields() {
            true => format!("{} = unpack('<{numbers}', value_{s})", names.join(", ")),
            false => read_tags(&tags, s),
        };
        let declared: Vec<String> = tags.iter().map(|(place, _)| tag_at(*place)).collect();
        let regular: Vec<String> =
            tags.iter().map(|(place, tag)| format!("{} == {tag}", tag_at(*place))).collect();
        let (declared, regular) = (declared.join(", "), regular.join(" and "));
        let (bytes, decimal) = (place - 1, self.decimal_layout(subject));
        Some(format!(
            "local {declared}\nif #value_{s} == {bytes} then {read} end\n\
             if {regular} then\n{places}{decimal}else irregular_{s} = true end"
        ))
    }

    /// The same where there is one limit, and its body begins with its size.
    fn sized_layout(&self, subject: usize) -> Option<String> {
        let s = subject + 1;
        let limits = self.counting_of(subject);
        let [limit] = limits.as_slice() else { return None };
        let (at, tag) = (self.limit_variable(*limit, "body_at"), tag_number(*limit));
        Some(format!(
            "local version, tag, size\n\
             if #value_{s} > 5 then version, tag, size = unpack('<BBI4', value_{s}) end\n\
             if version == {VERSION} and tag == {tag} and size == #value_{s} - 6 then\n\
             {at} = 3\nelse irregular_{s} = true end"
        ))
    }

    /// Reads the numbers of the bodies that `walk` has found.
    pub(super) fn read_irregular(&mut self, subject: usize) {
        if self.is_fixed(subject) {
            self.read_fields(subject);
        }
    }

    /// The same where `expected_layout` has not read them either.
    pub(super) fn read_unread(&mut self, subject: usize) {
        if !self.is_fixed(subject) {
            self.read_fields(subject);
        }
    }

    fn read_fields(&mut self, subject: usize) {
        for limit in self.counting_of(subject) {
            let fields = self.fields(limit);
            if !fields.is_empty() {
                let at = self.limit_variable(limit, "body_at");
                let body = self.unpack_body(limit);
                self.add(&format!("if {at} then {} = {body} end", fields.join(", ")));
            }
        }
    }

    /// The numbers of a body, as an expression with so many values.
    pub(super) fn body(&self, limit: Context) -> String {
        let fields = self.fields(limit);
        if fields.is_empty() { self.unpack_body(limit) } else { fields.join(", ") }
    }

    fn unpack_body(&self, limit: Context) -> String {
        let (at, s) = (self.limit_variable(limit, "body_at"), limit.subject + 1);
        format!("unpack('<{}', value_{s}, {at})", numbers_of(limit).concat())
    }

    /// The variables of the numbers in the body of a limit.
    pub(super) fn fields(&self, limit: Context) -> Vec<String> {
        let numbers = numbers_of(limit).iter().enumerate().filter(|_| self.has_fields());
        numbers.map(|(i, _)| self.limit_variable(limit, &format!("field_{}", i + 1))).collect()
    }

    /// Whether the numbers of bodies have variables.
    fn has_fields(&self) -> bool {
        self.shape.limits.len() <= MAX_WITH_FIELDS
    }

    /// Whether no body of a subject begins with its size.
    fn is_fixed(&self, subject: usize) -> bool {
        self.counting_of(subject).iter().all(|limit| body_bytes(limit.kind) > 0)
    }
}

/// The variable of the tag at a place, or of the version at the first.
fn tag_at(place: usize) -> String {
    format!("tag_{place}")
}

/// Reads the version and the tags alone.
fn read_tags(tags: &[(usize, usize)], s: usize) -> String {
    let names: Vec<String> = tags.iter().map(|(place, _)| tag_at(*place)).collect();
    let bytes = tags.iter().map(|(place, _)| format!("byte(value_{s}, {place})"));
    format!("{} = {}", names.join(", "), bytes.collect::<Vec<_>>().join(", "))
}

fn numbers_of(limit: Context) -> &'static [&'static str] {
    BODY_NUMBERS.get(usize::from(limit.kind.number())).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::BODY_BYTES;

    #[test]
    fn the_numbers_of_a_body_are_all_of_it() {
        let bytes = |number: &&str| match *number {
            "d" => 8,
            number => number[1..].parse::<usize>().unwrap(),
        };
        let sums = BODY_NUMBERS.map(|numbers| numbers.iter().map(bytes).sum::<usize>());
        assert_eq!(sums, BODY_BYTES);
    }
}
