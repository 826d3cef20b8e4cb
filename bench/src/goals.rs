//! Goals for the figures, and whether they are reached.

use std::fmt;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::report::Row;

const REACHED: Style = AnsiColor::Green.on_default();
const MISSED: Style = AnsiColor::Red.on_default().bold();
const FAINT: Style = Style::new().dimmed();

/// A bound on the ratio of a figure.
pub(crate) struct Goal {
    pub(crate) bench: &'static str,
    pub(crate) system: &'static str,
    pub(crate) bound: Bound,
}

#[derive(Clone, Copy)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bound {
    fn holds(self, ratio: f64) -> bool {
        match self {
            Bound::AtMost(max) => ratio <= max,
            Bound::AtLeast(min) => ratio >= min,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::AtMost(max) => write!(f, "at most {max:.2}"),
            Bound::AtLeast(min) => write!(f, "at least {min:.2}"),
        }
    }
}

/// A goal with its figure, if it was measured.
struct GoalLine<'g> {
    goal: &'g Goal,
    row: Option<&'g Row>,
}

/// Prints whether the figures reach the goals; to standard error if standard output is JSON.
pub(crate) fn print_goals(goals: &[Goal], rows: &[Row], json: bool) -> anyhow::Result<()> {
    match json {
        true => print(goals, rows, &mut anstream::stderr())?,
        false => print(goals, rows, &mut anstream::stdout())?,
    }
    Ok(())
}

/// Prints one line per goal.
fn print(goals: &[Goal], rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\ngoals")?;
    for goal in goals {
        let matches = |row: &&Row| row.bench == goal.bench && row.system == goal.system;
        writeln!(out, "{}", GoalLine { goal, row: rows.iter().find(matches) })?;
    }
    Ok(())
}

impl fmt::Display for GoalLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Goal { bench, system, bound } = self.goal;
        let (style, mark, figure) = match self.row {
            None => (FAINT, '-', "not measured".to_owned()),
            Some(row) if bound.holds(row.ratio) => (REACHED, '✓', figure(row)),
            Some(row) => (MISSED, '✗', figure(row)),
        };
        write!(f, "  {style}{mark} {bench:<18}{system:<26}{bound}  {figure}{style:#}")
    }
}

fn figure(row: &Row) -> String {
    format!("{:.3} of {}", row.ratio, row.against)
}
