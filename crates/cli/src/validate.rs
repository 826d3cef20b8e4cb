//! `tollgate validate`: reports every error in a file with its line and column.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use tollgate_core::{Limit, LimitError};
use tollgate_server::{Config, Diagnostic};

use crate::args::Validate;
use crate::file;
use crate::outcome::Outcome;

/// What was found in a file.
#[derive(Default)]
struct Report {
    limits: usize,
    errors: Vec<Diagnostic>,
    /// Valid keys that are not implemented yet.
    not_yet: Vec<Diagnostic>,
    /// What is valid, and most likely a mistake.
    warnings: Vec<String>,
}

pub(crate) fn run(args: &Validate) -> anyhow::Result<Outcome> {
    let name = args.file.display();
    let text = file::read(&args.file).with_context(|| format!("cannot read {name}"))?;
    let is_config = args.file.extension().is_some_and(|extension| extension == "toml");
    let report = if is_config { Report::config(&text) } else { Report::lines(&text) };
    print(&report, &args.file, args.json)
}

fn print(report: &Report, file: &Path, json: bool) -> anyhow::Result<Outcome> {
    let mut out = anstream::stdout();
    for Diagnostic { line, column, message: what, .. } in &report.errors {
        if json {
            let object = serde_json::json!({
                "file": file.to_string_lossy(), "line": line, "column": column, "message": what,
            });
            writeln!(out, "{object}")?;
        } else {
            writeln!(out, "{}:{line}:{column}: {what}", file.display())?;
        }
    }
    for diagnostic in &report.not_yet {
        eprintln!("{}:{diagnostic}", file.display());
    }
    for warning in &report.warnings {
        eprintln!("{}: warning: {warning}", file.display());
    }
    let plural =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    if report.errors.is_empty() {
        let limits = plural(report.limits, "limit");
        eprintln!("{}: {limits} checked, no errors", file.display());
        return Ok(Outcome::Positive);
    }
    eprintln!("{}: {}", file.display(), plural(report.errors.len(), "error"));
    Ok(Outcome::Negative)
}

impl Report {
    /// Checks a file with one limit per line.
    fn lines(text: &str) -> Report {
        let mut report = Report::default();
        for (number, line) in text.lines().enumerate() {
            let limit = line.split('#').next().unwrap_or_default().trim_end();
            if limit.trim().is_empty() {
                continue;
            }
            report.limits += 1;
            if let Err(error) = limit.parse::<Limit>() {
                let before = limit.get(..LimitError::column(&error).unwrap_or(0));
                let column = before.unwrap_or_default().chars().count() + 1;
                report.errors.push(Diagnostic::new(number + 1, column, error.to_string()));
            }
        }
        if report.limits == 0 {
            report.errors.push(Diagnostic::new(1, 1, "the file has no limits"));
        }
        report
    }

    /// Checks a config file. It may have no policies: limits may come with `--limit` and `CL.THROTTLE`.
    fn config(text: &str) -> Report {
        match Config::parse(text) {
            Ok(config) => {
                let limits = config.policies.iter().map(|config| config.policy.limits().len());
                let (limits, warnings) = (limits.sum(), config.warnings());
                Report { limits, warnings, not_yet: config.unsupported, ..Report::default() }
            }
            Err(errors) => Report { errors, ..Report::default() },
        }
    }
}
