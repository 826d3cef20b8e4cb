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
    pub(crate) bench: &'static str,
    pub(crate) system: &'static str,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) against: &'static str,
    pub(crate) ratio: f64,
    #[serde(skip)]
    range: (f64, f64),
    #[serde(skip)]
    allowed: Option<f64>,
}

/// Returns the rows of one bench.
pub(crate) fn rows(bench: &'static str, unit: &'static str, all: &[Series]) -> Vec<Row> {
    let row = |series: &Series| {
        let base = all.iter().find(|other| other.system == series.against).unwrap_or(series);
        Row {
            bench,
            system: series.system,
            value: rounded(series.median(), 10.0),
            unit,
            against: series.against,
            ratio: rounded(series.ratio_to(base), 1000.0),
            range: series.range(),
            allowed: series.allowed(),
        }
    };
    all.iter().map(row).collect()
}

/// Rounds to a multiple of 1 / `parts`: more digits would be noise.
fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

/// Prints the figures of one bench as soon as they are known.
pub(crate) fn print(title: &str, rows: &[Row], json: bool) -> anyhow::Result<()> {
    match json {
        true => print_json(rows),
        false => Ok(print_table(title, rows)?),
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

/// Prints a table with a title.
fn print_table(title: &str, rows: &[Row]) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let Some(first) = rows.first() else { return Ok(()) };
    writeln!(out, "\n{BOLD}{}{BOLD:#}  {title}", first.bench)?;
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
    let range = format!("{low:.1} to {high:.1}");
    let allowed = row.allowed.map_or(String::new(), |share| format!("{:.0}%", share * 100.0));
    line([system, &format!("{value:.1}"), &ratio, &range, &allowed])
}

fn line([system, value, ratio, range, allowed]: [&str; 5]) -> String {
    let line = format!("  {system:<26}{value:>9}  {ratio:>26}  {range:>18}  {allowed:>7}");
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_json_object() {
        let row = Row {
            bench: "hot-1t",
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
