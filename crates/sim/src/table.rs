//! Decisions as rows of a table, with a summary below it.

use std::fmt;

use anstyle::{AnsiColor, Style};
use tollgate_core::Span;
use tollgate_http::json::Millis;

use crate::decision::StepDecision;
use crate::escape::escape_controls;

const ALLOWED: Style = AnsiColor::Green.on_default();
const DENIED: Style = AnsiColor::Red.on_default().bold();
const FAINT: Style = Style::new().dimmed();

impl fmt::Display for StepDecision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (step, decision) = (self.step, &self.decision);
        let (style, mark, word) = match decision.allowed {
            true => (ALLOWED, '✓', "allowed"),
            false => (DENIED, '✗', "denied "),
        };
        let keys: Vec<String> =
            step.keys.iter().map(|(name, key)| format!("{name}={key}")).collect();
        let key = if keys.is_empty() { step.key.to_string() } else { keys.join(" ") };
        let key = escape_controls(&key);
        let remaining = decision.remaining.map_or("∞".to_owned(), |left| left.to_string());
        let wait = decision.retry_after.map_or("never".to_owned(), wait_or_dash);
        write!(f, "{:>14}  {key:<16}  {:<7} {:>5}  ", Millis::from(step.at), step.act, step.cost)?;
        write!(f, "{style}{mark} {word}{style:#} {remaining:>9}  {wait:<11}  ")?;
        let reset = wait_or_dash(decision.reset_after);
        match self.bound_by.filter(|_| !decision.allowed) {
            None => f.write_str(&reset),
            Some(limit) => write!(f, "{reset:<11}  {FAINT}{}{FAINT:#}", limit.line),
        }
    }
}

/// Formats a wait. Zero is a dash, since most rows have no wait.
fn wait_or_dash(span: Span) -> String {
    if span == Span::ZERO { "-".to_owned() } else { span.to_string() }
}

/// Counts decisions, for the summary below the table.
#[derive(Debug, Default, Clone, Copy)]
pub struct Summary {
    steps: u64,
    /// Steps that can be denied: not `refund`, `charge` or `reset`.
    deniable: u64,
    denied: u64,
}

impl Summary {
    /// Head of the table whose rows [`StepDecision`] prints.
    pub const TABLE_HEAD: &'static str = "          t_ms  key               op       cost  \
          decision  remaining  retry after  reset after";

    /// Counts one decision.
    pub fn count(&mut self, decided: &StepDecision<'_>) {
        let deniable = decided.step.act.can_be_denied();
        self.steps = self.steps.saturating_add(1);
        self.deniable = self.deniable.saturating_add(u64::from(deniable));
        self.denied = self.denied.saturating_add(u64::from(!decided.decision.allowed));
    }
}

impl fmt::Display for Summary {
    #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { steps, deniable, denied } = *self;
        let allowed = deniable.saturating_sub(denied);
        let percent = 100.0 * denied as f64 / deniable.max(1) as f64;
        let plural = if steps == 1 { "" } else { "s" };
        write!(f, "{steps} step{plural}: {ALLOWED}{allowed} allowed{ALLOWED:#}, ")?;
        write!(f, "{DENIED}{denied} denied{DENIED:#} ({percent:.1}%)")
    }
}
