//! Goals for the figures, and whether they are reached.

use std::fmt;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::report::{Row, digits};

const REACHED: Style = AnsiColor::Green.on_default();
const MISSED: Style = AnsiColor::Red.on_default().bold();
const FAINT: Style = Style::new().dimmed();

/// A bound on a figure.
pub(crate) struct Goal {
    pub(crate) bench: &'static str,
    system: &'static str,
    figure: Figure,
    bound: Bound,
}

/// What a bound is for.
#[derive(Clone, Copy)]
enum Figure {
    /// The ratio to the system with which it is compared.
    Ratio,
    /// The ratio to this system.
    RatioTo(&'static str),
    /// The median in this unit.
    Value(&'static str),
    /// The worst round in this unit.
    Worst(&'static str),
}

impl Goal {
    /// Bounds the ratio to the system with which this one is compared.
    pub(crate) const fn ratio(bench: &'static str, system: &'static str, bound: Bound) -> Goal {
        Goal { bench, system, figure: Figure::Ratio, bound }
    }

    /// Bounds the ratio to one of the systems with which this one is compared.
    pub(crate) const fn to(self, against: &'static str) -> Goal {
        Goal { figure: Figure::RatioTo(against), ..self }
    }

    /// Bounds the figure itself.
    pub(crate) const fn value(self, unit: &'static str) -> Goal {
        Goal { figure: Figure::Value(unit), ..self }
    }

    /// Bounds the figure in every round.
    pub(crate) const fn in_every_round(self, unit: &'static str) -> Goal {
        Goal { figure: Figure::Worst(unit), ..self }
    }

    fn is_for(&self, row: &Row) -> bool {
        let fits = match self.figure {
            Figure::Ratio => true,
            Figure::RatioTo(system) => row.against == system,
            Figure::Value(unit) | Figure::Worst(unit) => row.unit == unit,
        };
        fits && row.bench == self.bench && row.system == self.system
    }

    fn value_in(&self, row: &Row) -> f64 {
        match (self.figure, self.bound) {
            (Figure::Ratio | Figure::RatioTo(_), _) => row.ratio,
            (Figure::Value(_), _) => row.value,
            (Figure::Worst(_), Bound::AtMost(_)) => row.range.1,
            (Figure::Worst(_), Bound::AtLeast(_)) => row.range.0,
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bound {
    fn holds(self, figure: f64) -> bool {
        match self {
            Bound::AtMost(max) => figure <= max,
            Bound::AtLeast(min) => figure >= min,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::AtMost(max) => write!(f, "at most {max}"),
            Bound::AtLeast(min) => write!(f, "at least {min}"),
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
        let row = rows.iter().find(|row| goal.is_for(row));
        writeln!(out, "{}", GoalLine { goal, row })?;
    }
    Ok(())
}

impl fmt::Display for GoalLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Goal { bench, system, bound, .. } = self.goal;
        let (style, mark) = match self.row.map(|row| bound.holds(self.goal.value_in(row))) {
            None => (FAINT, '-'),
            Some(true) => (REACHED, '✓'),
            Some(false) => (MISSED, '✗'),
        };
        write!(f, "  {style}{mark} {bench:<30}{system:<26}{bound}  {}{style:#}", self.figure())
    }
}

impl GoalLine<'_> {
    fn figure(&self) -> String {
        let Some(row) = self.row else { return "not measured".to_owned() };
        let value = self.goal.value_in(row);
        match self.goal.figure {
            Figure::Ratio | Figure::RatioTo(_) => format!("{value:.3} of {}", row.against),
            Figure::Value(unit) | Figure::Worst(unit) => format!("{} {unit}", digits(value)),
        }
    }
}
