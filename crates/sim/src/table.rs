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
        let (style, mark, word) = match (decision.allowed, step.act.can_be_denied()) {
            (true, _) => (ALLOWED, '✓', "allowed"),
            (false, true) => (DENIED, '✗', "denied "),
            (false, false) => (DENIED, '✗', "missing"),
        };
        let keys: Vec<String> =
            step.keys.iter().map(|(name, key)| format!("{name}={key}")).collect();
        let key = if keys.is_empty() { step.key.to_string() } else { keys.join(" ") };
        let key = escape_controls(&key);
        let remaining = decision.remaining.map_or("∞".to_owned(), |left| left.to_string());
        let wait = decision.retry_after.map_or("never".to_owned(), wait_or_dash);
        let (at, costs, width) = (Millis::from(step.at), step.costs_text(), self.cost_width);
        write!(f, "{at:>14}  {key:<16}  {:<7} {costs:>width$}  ", step.act)?;
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

/// Returns the head of the table whose rows [`StepDecision`] prints.
pub(crate) fn head(cost_width: usize) -> String {
    format!(
        "{:>14}  {:<16}  {:<7} {:>cost_width$}  decision  remaining  retry after  reset after",
        "t_ms", "key", "op", "cost"
    )
}

/// Returns the width of the column of costs, for a policy with these units.
pub(crate) fn cost_width(units: &[&str]) -> usize {
    const DIGITS: usize = 5;
    let unit_width = |unit: &&str| " =".len() + unit.len() + DIGITS;
    DIGITS + units.iter().map(unit_width).sum::<usize>()
}

/// Counts decisions, for the summary below the table.
#[derive(Debug, Default, Clone, Copy)]
pub struct Summary {
    steps: u64,
    /// Steps that can be denied: `check`, `peek` and `reserve`.
    deniable: u64,
    denied: u64,
    /// Steps that did not find their reservation or lease: `settle`, `release` and `renew`.
    missing: u64,
}

impl Summary {
    /// Counts one decision.
    pub fn count(&mut self, decided: &StepDecision<'_>) {
        let (deniable, allowed) = (decided.step.act.can_be_denied(), decided.decision.allowed);
        let count = |counter: &mut u64, counts: bool| {
            *counter = counter.saturating_add(u64::from(counts));
        };
        count(&mut self.steps, true);
        count(&mut self.deniable, deniable);
        count(&mut self.denied, deniable && !allowed);
        count(&mut self.missing, !deniable && !allowed);
    }
}

impl fmt::Display for Summary {
    #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { steps, deniable, denied, missing } = *self;
        let allowed = deniable.saturating_sub(denied);
        let percent = 100.0 * denied as f64 / deniable.max(1) as f64;
        let plural = if steps == 1 { "" } else { "s" };
        write!(f, "{steps} step{plural}: {ALLOWED}{allowed} allowed{ALLOWED:#}, ")?;
        write!(f, "{DENIED}{denied} denied{DENIED:#} ({percent:.1}%)")?;
        match missing {
            0 => Ok(()),
            _ => write!(f, ", {missing} without a reservation or lease to act on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Simulator, Step};

    /// Steps that find no reservation and no lease, and the summary after them, without its colours.
    const SUMMARIES: [(&[&str], &str); 4] = [
        (&[r#"{"t_ms":0}"#], "1 step: 1 allowed, 0 denied (0.0%)"),
        (&[r#"{"t_ms":0,"op":"charge","cost":9}"#], "1 step: 0 allowed, 0 denied (0.0%)"),
        (
            &[
                r#"{"t_ms":0}"#,
                r#"{"t_ms":0,"op":"reserve","id":"a"}"#,
                r#"{"t_ms":0,"op":"settle","id":"a"}"#,
                r#"{"t_ms":0,"op":"reset"}"#,
            ],
            "4 steps: 1 allowed, 1 denied (50.0%), 1 without a reservation or lease to act on",
        ),
        (
            &[r#"{"t_ms":0,"op":"release","id":"a"}"#, r#"{"t_ms":0,"op":"renew","id":"b"}"#],
            "2 steps: 0 allowed, 0 denied (0.0%), 2 without a reservation or lease to act on",
        ),
    ];

    #[test]
    fn the_summary_counts_denied_only_of_what_can_be_denied() {
        for (lines, expected) in SUMMARIES {
            let mut simulator =
                Simulator::new(["gcra 1/s burst 1", "concurrency 9 ttl 1s"]).unwrap();
            let mut summary = Summary::default();
            for line in lines {
                let step = Step::parse(line).unwrap();
                let decided = simulator.decide(&step).unwrap();
                summary.count(&decided);
                let missing = ["settle", "release", "renew"].iter().any(|op| line.contains(op));
                assert_eq!(decided.to_string().contains("✗ missing"), missing, "{decided}");
            }
            let colours = [ALLOWED, DENIED].map(|style| style.to_string());
            let mut text = summary.to_string();
            for colour in colours.iter().map(String::as_str).chain(["\u{1b}[0m"]) {
                text = text.replace(colour, "");
            }
            assert_eq!(text, expected, "{lines:?}");
        }
    }
}
