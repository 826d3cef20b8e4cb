//! The answer to one step, as people read it.

use std::fmt;

use anstyle::{AnsiColor, Style};
use tollgate_core::Span;

use crate::answer::Answer;
use crate::millis::Millis;

const ALLOWED: Style = AnsiColor::Green.on_default();
const DENIED: Style = AnsiColor::Red.on_default().bold();
const FAINT: Style = Style::new().dimmed();

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (step, decision) = (self.step, &self.decision);
        let (style, mark, word) = match decision.allowed {
            true => (ALLOWED, '✓', "allowed"),
            false => (DENIED, '✗', "denied "),
        };
        let keys: Vec<String> =
            step.keys.iter().map(|(kind, key)| format!("{kind}={key}")).collect();
        let key = if keys.is_empty() { shown(&step.key) } else { shown(&keys.join(" ")) };
        let left = decision.remaining.map_or("∞".to_owned(), |left| left.to_string());
        let wait = decision.retry_after.map_or("never".to_owned(), said);
        write!(f, "{:>14}  {key:<16}  {:<7} {:>5}  ", Millis::from(step.at), step.act, step.cost)?;
        write!(f, "{style}{mark} {word}{style:#} {left:>6}  {wait:<11}  ")?;
        let reset = said(decision.reset_after);
        match self.bound_by.filter(|_| !decision.allowed) {
            None => f.write_str(&reset),
            Some(limit) => write!(f, "{reset:<11}  {FAINT}{}{FAINT:#}", limit.line),
        }
    }
}

/// A text from outside, without what could steer a terminal.
pub(crate) fn shown(text: &str) -> String {
    let hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if hostile(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
        shown
    })
}

/// A wait; nothing is a dash, since most rows have none.
fn said(span: Span) -> String {
    if span == Span::ZERO { "-".to_owned() } else { span.to_string() }
}

/// How many of each were seen, and what it comes to.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    steps: u64,
    asked: u64,
    denied: u64,
}

impl Tally {
    /// The head of the columns that [`Answer`] prints.
    pub const HEAD: &'static str =
        "          t_ms  key               op       cost            left  retry after  reset after";

    /// Counts one answer.
    pub fn count(&mut self, answer: &Answer<'_>) {
        let asked = answer.step.act.can_be_denied();
        self.steps = self.steps.saturating_add(1);
        self.asked = self.asked.saturating_add(u64::from(asked));
        self.denied = self.denied.saturating_add(u64::from(!answer.decision.allowed));
    }
}

impl fmt::Display for Tally {
    #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { steps, asked, denied } = *self;
        let allowed = asked.saturating_sub(denied);
        let share = 100.0 * denied as f64 / asked.max(1) as f64;
        let plural = if steps == 1 { "" } else { "s" };
        write!(f, "{steps} step{plural}: {ALLOWED}{allowed} allowed{ALLOWED:#}, ")?;
        write!(f, "{DENIED}{denied} denied{DENIED:#} ({share:.1}%)")
    }
}
