//! The plain shape that nearly all steps have, read in one pass.
//!
//! A flat object, texts without escapes, numbers without exponents, nothing said twice. Whatever
//! else a line holds, right or wrong, is left to the full reader, which also knows what to say
//! about it. So this may give up at any time, but must never read a line otherwise than that does.

use std::borrow::Cow;

use tollgate_core::{Act, Id, Key, MAX_COST, Time};

use super::{NAMELESS, Step};
use crate::millis::exact;

/// The step, if the line is of the plain shape and all is right with it.
pub(super) fn step(line: &str) -> Option<Step<'_>> {
    let fields = Fields::read(&mut Cursor { line, at: 0 })?;
    let act = fields.op.map_or(Some(Act::Check), Act::from_name)?;
    let cost = fields.cost.map_or(Some(1), |cost| exact(cost, 0))?;
    let (key, id) = (fields.key.unwrap_or(NAMELESS), fields.id);
    let fits = Key::new(key.as_bytes()).is_ok() && cost <= MAX_COST;
    let named = id.map_or(!act.needs_id(), |id| Id::new(id.as_bytes()).is_ok());
    (fits && named).then_some(())?;
    let at = exact(fields.t_ms?, 3).and_then(Time::from_micros)?;
    Some(Step {
        at,
        act,
        cost,
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

    /// Goes on while the bytes are of a kind; answers what was passed.
    fn pass(&mut self, kind: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let passed = rest.bytes().position(|byte| !kind(byte)).unwrap_or(rest.len());
        self.at += passed;
        rest.get(..passed).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        // Most lines have none, or one.
        if self.peek().is_none_or(|byte| byte > b' ') {
            return;
        }
        self.pass(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn text(&mut self) -> Option<&'t str> {
        self.eat(b'"')?;
        let text = self.pass(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
        (self.peek()? == b'"').then(|| self.at += 1)?;
        Some(text)
    }

    /// Digits, and digits after a point; no number of JSON begins with a zero but those below one.
    fn number(&mut self) -> Option<&'t str> {
        self.skip_space();
        let start = self.at;
        let whole = self.pass(|byte| byte.is_ascii_digit());
        let leading = whole.len() > 1 && whole.starts_with('0');
        (!whole.is_empty() && !leading).then_some(())?;
        if self.peek() == Some(b'.') {
            self.at += 1;
            (!self.pass(|byte| byte.is_ascii_digit()).is_empty()).then_some(())?;
        }
        self.line.get(start..self.at)
    }
}
