//! What the figures must be, and whether they are.

use std::fmt;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::report::{self, Row};

const REACHED: Style = AnsiColor::Green.on_default();
const MISSED: Style = AnsiColor::Red.on_default().bold();
const FAINT: Style = Style::new().dimmed();

/// What the ratio of a figure must be.
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
            Bound::AtMost(most) => ratio <= most,
            Bound::AtLeast(least) => ratio >= least,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::AtMost(most) => write!(f, "at most {most:.2}"),
            Bound::AtLeast(least) => write!(f, "at least {least:.2}"),
        }
    }
}

/// A goal beside what was measured, if it was.
struct Judged<'g> {
    goal: &'g Goal,
    row: Option<&'g Row>,
}

/// All figures, if programs read them, and whether they are what they must be.
pub(crate) fn conclude(goals: &[Goal], rows: &[Row], json: bool) -> anyhow::Result<()> {
    if json {
        report::print_json(rows)?;
    }
    judge(goals, rows, json)
}

/// Whether the figures are what they must be: not among them, where programs read those.
pub(crate) fn judge(goals: &[Goal], rows: &[Row], json: bool) -> anyhow::Result<()> {
    match json {
        true => print(goals, rows, &mut anstream::stderr())?,
        false => print(goals, rows, &mut anstream::stdout())?,
    }
    Ok(())
}

/// Every goal, one a line.
fn print(goals: &[Goal], rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nmust be")?;
    for goal in goals {
        let measured = |row: &&Row| row.bench == goal.bench && row.system == goal.system;
        writeln!(out, "{}", Judged { goal, row: rows.iter().find(measured) })?;
    }
    Ok(())
}

impl fmt::Display for Judged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Goal { bench, system, bound } = self.goal;
        let (style, mark, said) = match self.row {
            None => (FAINT, '-', "not measured".to_owned()),
            Some(row) if bound.holds(row.ratio) => (REACHED, '✓', said(row)),
            Some(row) => (MISSED, '✗', said(row)),
        };
        write!(f, "  {style}{mark} {bench:<18}{system:<26}{bound}  {said}{style:#}")
    }
}

fn said(row: &Row) -> String {
    format!("{:.3} of {}", row.ratio, row.against)
}
