//! Prints figures as tables or as JSON.

use std::io::{self, Write};

use anstyle::Style;
use serde::Serialize;

use crate::rounds::Series;

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// One figure of one system.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) bench: String,
    pub(crate) system: &'static str,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) against: &'static str,
    pub(crate) ratio: f64,
    /// The minimum and the maximum of all rounds.
    #[serde(skip)]
    pub(crate) range: (f64, f64),
    #[serde(skip)]
    allowed: Option<f64>,
}

/// Returns the rows of one bench.
pub(crate) fn rows(bench: &str, unit: &'static str, all: &[Series]) -> Vec<Row> {
    let row = |series: &Series| {
        let base = all.iter().find(|other| other.system == series.against).unwrap_or(series);
        Row {
            bench: bench.to_owned(),
            system: series.system,
            value: rounded(series.median(), 10_f64.powi(decimals(series.median()))),
            unit,
            against: series.against,
            ratio: rounded(series.ratio_to(base), 1000.0),
            range: series.range(),
            allowed: series.allowed(),
        }
    };
    all.iter().map(row).collect()
}

/// Rounds to a multiple of 1 / `parts`.
fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

/// Returns the number of decimals of a figure: one, and three digits below 1. More would be noise.
fn decimals(value: f64) -> i32 {
    let has_three_digits = |decimals: &i32| value.abs() * 10_f64.powi(*decimals) >= 100.0;
    if value == 0.0 || value.abs() >= 1.0 { 1 } else { (3..9).find(has_three_digits).unwrap_or(9) }
}

/// Prints the figures of one bench as soon as they are known.
pub(crate) fn print(name: &str, about: &str, rows: &[Row], json: bool) -> anyhow::Result<()> {
    match json {
        true => print_json(rows),
        false => Ok(print_table(name, about, rows)?),
    }
}

/// Prints one JSON object per line.
pub(crate) fn print_json(rows: &[Row]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    for row in rows {
        writeln!(out, "{}", serde_json::to_string(row)?)?;
    }
    Ok(())
}

/// Prints a table under the name of its bench.
fn print_table(name: &str, about: &str, rows: &[Row]) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let Some(first) = rows.first() else { return Ok(()) };
    writeln!(out, "\n{BOLD}{name}{BOLD:#}  {about}")?;
    let (unit, allowed) = (first.unit, first.allowed.map_or("", |_| "allowed"));
    let heads = line(["", unit, "ratio", "min to max", allowed]);
    writeln!(out, "{FAINT}{heads}{FAINT:#}")?;
    for row in rows {
        let style = if row.system.starts_with("tollgate") { BOLD } else { Style::new() };
        writeln!(out, "{style}{}{style:#}", row_line(row))?;
    }
    Ok(())
}

fn row_line(row: &Row) -> String {
    let Row { system, value, against, ratio, range: (low, high), .. } = row;
    let ratio = if system == against { String::new() } else { format!("{ratio:.2} {against}") };
    let range = format!("{} to {}", digits(*low), digits(*high));
    let allowed = row.allowed.map_or(String::new(), |share| format!("{:.0}%", share * 100.0));
    line([system, &digits(*value), &ratio, &range, &allowed])
}

/// Formats a figure.
pub(crate) fn digits(value: f64) -> String {
    format!("{value:.*}", usize::try_from(decimals(value)).unwrap_or_default())
}

fn line([system, value, ratio, range, allowed]: [&str; 5]) -> String {
    let line = format!("  {system:<26}{value:>9}  {ratio:>26}  {range:>22}  {allowed:>7}");
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_below_one_have_three_digits() {
        let shown = [0.0, 0.000_412_3, 0.95, 1.0, 41.26, 1_234_567.89].map(digits);
        assert_eq!(shown, ["0.0", "0.000412", "0.950", "1.0", "41.3", "1234567.9"]);
    }

    #[test]
    fn a_row_is_one_json_object() {
        let row = Row {
            bench: "hot-1t".to_owned(),
            system: "tollgate",
            value: rounded(46.04, 10.0),
            unit: "ns",
            against: "governor",
            ratio: rounded(0.46, 1000.0),
            range: (45.0, 47.0),
            allowed: Some(0.1),
        };
        let json = r#"{"bench":"hot-1t","system":"tollgate","value":46.0,"unit":"ns","against":"governor","ratio":0.46}"#;
        assert_eq!(serde_json::to_string(&row).unwrap(), json);
    }
}
