//! `tollgate validate`: every mistake in a file, at once and with its place.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use tollgate_core::{Limit, LimitError};
use tollgate_server::{Config, Diagnostic};

use crate::args::Validate;
use crate::{Answer, file};

/// What was found in a file.
#[derive(Default)]
struct Report {
    limits: usize,
    mistakes: Vec<Diagnostic>,
    /// What is right, but not acted on yet.
    not_yet: Vec<Diagnostic>,
}

pub(crate) fn run(args: &Validate) -> anyhow::Result<Answer> {
    let name = args.file.display();
    let text = file::read(&args.file).with_context(|| format!("cannot read {name}"))?;
    let is_config = args.file.extension().is_some_and(|ending| ending == "toml");
    let found = if is_config { Report::config(&text) } else { Report::lines(&text) };
    report(&found, &args.file, args.json)
}

fn report(found: &Report, file: &Path, json: bool) -> anyhow::Result<Answer> {
    let mut out = anstream::stdout();
    for Diagnostic { line, column, message: what, .. } in &found.mistakes {
        if json {
            let object = serde_json::json!({
                "file": file.to_string_lossy(), "line": line, "column": column, "mistake": what,
            });
            writeln!(out, "{object}")?;
        } else {
            writeln!(out, "{}:{line}:{column}: {what}", file.display())?;
        }
    }
    for note in &found.not_yet {
        eprintln!("{}:{note}", file.display());
    }
    let plural =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    if found.mistakes.is_empty() {
        let limits = plural(found.limits, "limit");
        eprintln!("{}: {limits} checked, no mistake", file.display());
        return Ok(Answer::Yes);
    }
    eprintln!("{}: {}", file.display(), plural(found.mistakes.len(), "mistake"));
    Ok(Answer::No)
}

impl Report {
    /// A file with one limit a line.
    fn lines(text: &str) -> Report {
        let mut found = Report::default();
        for (number, line) in text.lines().enumerate() {
            let limit = line.split('#').next().unwrap_or_default().trim_end();
            if limit.trim().is_empty() {
                continue;
            }
            found.limits += 1;
            if let Err(error) = limit.parse::<Limit>() {
                let before = limit.get(..LimitError::column(&error).unwrap_or(0));
                let column = before.unwrap_or_default().chars().count() + 1;
                found.mistakes.push(Diagnostic::new(number + 1, column, error.to_string()));
            }
        }
        if found.limits == 0 {
            found.mistakes.push(Diagnostic::new(1, 1, "there is no limit in this file"));
        }
        found
    }

    /// A config file. It may have no policies: limits may come with `--limit` and `CL.THROTTLE`.
    fn config(text: &str) -> Report {
        match Config::parse(text) {
            Ok(Config { policies, unsupported: not_yet, .. }) => {
                let limits = policies.iter().map(|config| config.policy.limits().len()).sum();
                Report { limits, mistakes: Vec::new(), not_yet }
            }
            Err(mistakes) => Report { mistakes, ..Report::default() },
        }
    }
}
