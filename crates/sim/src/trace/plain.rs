//! A fast parser for the plain form that nearly all steps have, in one pass.
//!
//! Plain means: a flat object, strings without escapes, numbers without exponents, no duplicate
//! fields. Every other line, valid or not, is left to the full parser, which also has the error
//! messages. So this parser may give up at any time, but must never read a line differently.

use std::borrow::Cow;

use tollgate_core::{Act, Id, Key, MAX_COST, Time};
use tollgate_http::json::{parse_scaled, parse_whole};

use crate::step::{DEFAULT_KEY, Step};

/// Returns the step if the line is plain and valid.
pub(super) fn parse(line: &str) -> Option<Step<'_>> {
    let fields = Fields::read(&mut Cursor { line, at: 0 })?;
    let act = fields.op.map_or(Some(Act::Check), Act::from_name)?;
    let cost = fields.cost.map_or(Some(1), parse_whole)?;
    let (key, id) = (fields.key.unwrap_or(DEFAULT_KEY), fields.id);
    let is_valid = Key::new(key.as_bytes()).is_ok() && cost <= MAX_COST;
    let has_id = id.map_or(!act.needs_id(), |id| Id::new(id.as_bytes()).is_ok());
    (is_valid && has_id).then_some(())?;
    let at = parse_scaled(fields.t_ms?, 3).and_then(Time::from_micros)?;
    Some(Step {
        at,
        act,
        cost,
        costs: Vec::new(),
        key: Cow::Borrowed(key),
        keys: Vec::new(),
        id: id.map(Cow::Borrowed),
    })
}

#[derive(Default)]
struct Fields<'t> {
    t_ms: Option<&'t str>,
    key: Option<&'t str>,
    cost: Option<&'t str>,
    op: Option<&'t str>,
    id: Option<&'t str>,
}

impl<'t> Fields<'t> {
    fn read(cursor: &mut Cursor<'t>) -> Option<Fields<'t>> {
        let mut fields = Fields::default();
        cursor.eat(b'{')?;
        loop {
            let name = cursor.text()?;
            cursor.eat(b':')?;
            let (field, value) = match name {
                "t_ms" => (&mut fields.t_ms, cursor.number()?),
                "cost" => (&mut fields.cost, cursor.number()?),
                "key" => (&mut fields.key, cursor.text()?),
                "op" => (&mut fields.op, cursor.text()?),
                "id" => (&mut fields.id, cursor.text()?),
                _ => return None,
            };
            if field.replace(value).is_some() {
                return None;
            }
            if cursor.eat(b',').is_none() {
                break;
            }
        }
        cursor.eat(b'}')?;
        cursor.skip_space();
        (cursor.at == cursor.line.len()).then_some(fields)
    }
}

struct Cursor<'t> {
    line: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    /// Consumes bytes while `accept` is true, and returns them.
    fn take_while(&mut self, accept: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let length = rest.bytes().position(|byte| !accept(byte)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        // Most lines have no space here, or one.
        if self.peek().is_none_or(|byte| byte > b' ') {
            return;
        }
        self.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn text(&mut self) -> Option<&'t str> {
        self.eat(b'"')?;
        let text = self.take_while(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
        (self.peek()? == b'"').then(|| self.at += 1)?;
        Some(text)
    }

    /// Digits, and optionally a point and more digits. JSON allows a leading zero only before a point.
    fn number(&mut self) -> Option<&'t str> {
        self.skip_space();
        let start = self.at;
        let whole = self.take_while(|byte| byte.is_ascii_digit());
        let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
        (!whole.is_empty() && !has_leading_zero).then_some(())?;
        if self.peek() == Some(b'.') {
            self.at += 1;
            (!self.take_while(|byte| byte.is_ascii_digit()).is_empty()).then_some(())?;
        }
        self.line.get(start..self.at)
    }
}
