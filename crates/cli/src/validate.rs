//! `tollgate validate`: every mistake in a file of limits, at once and with its place.

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;

use anyhow::Context;
use tollgate_core::{Limit, LimitError, Name, did_you_mean};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Answer;
use crate::args::Validate;

/// The longest file that is read; limits for a whole company are far shorter.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The tables of a config file.
const TABLES: [&str; 5] = ["server", "store", "policy", "rule", "lists"];
/// What a policy may say.
const POLICY: [&str; 7] =
    ["limits", "on_failure", "headers", "distribution", "enforce", "candidate", "overrides"];

/// One thing that is wrong, and where: a byte of the file.
struct Mistake {
    at: usize,
    what: String,
}

/// What was found in a file.
#[derive(Default)]
struct Findings {
    limits: usize,
    mistakes: Vec<Mistake>,
}

pub(crate) fn run(args: &Validate) -> anyhow::Result<Answer> {
    let name = args.file.display();
    let text = read(&args.file).with_context(|| format!("cannot read {name}"))?;
    let toml = args.file.extension().is_some_and(|ending| ending == "toml");
    let mut found = Findings::default();
    if toml {
        found.config(&text);
    } else {
        found.lines(&text);
    }
    if found.limits == 0 && found.mistakes.is_empty() {
        found.mistake(0, "there is no limit in this file");
    }
    found.mistakes.sort_by_key(|mistake| mistake.at);
    report(&found, &args.file, &text, args.json)
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?;
    if file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)? as u64 > MAX_FILE_BYTES {
        let what = format!("it is longer than {MAX_FILE_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(text)
}

fn report(found: &Findings, file: &Path, text: &str, json: bool) -> anyhow::Result<Answer> {
    let mut out = anstream::stdout();
    for mistake in &found.mistakes {
        let (line, column) = place(text, mistake.at);
        if json {
            let object = serde_json::json!({
                "file": file.to_string_lossy(), "line": line, "column": column,
                "mistake": mistake.what,
            });
            writeln!(out, "{object}")?;
        } else {
            writeln!(out, "{}:{line}:{column}: {}", file.display(), mistake.what)?;
        }
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

/// Line and column of a byte, both counted from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before.get(start..).map_or(0, |rest| rest.chars().count()) + 1)
}

impl Findings {
    fn mistake(&mut self, at: usize, what: impl Into<String>) {
        self.mistakes.push(Mistake { at, what: what.into() });
    }

    fn unknown(&mut self, at: usize, what: &str, word: &str, words: &[&str]) {
        let meant = did_you_mean(word, words.iter().copied());
        let accepted = words.join(", ");
        self.mistake(at, format!("{what} {word:?} is not known; expected {accepted}{meant}"));
    }

    /// One limit line that begins at a byte of the file.
    fn limit(&mut self, line: &str, at: usize) {
        self.limits += 1;
        if let Err(error) = line.parse::<Limit>() {
            let column = LimitError::column(&error).unwrap_or(0);
            self.mistake(at + column, error.to_string());
        }
    }

    /// A file with one limit a line.
    fn lines(&mut self, text: &str) {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let limit = line.split('#').next().unwrap_or_default().trim_end();
            if !limit.trim().is_empty() {
                self.limit(limit, at);
            }
            at += line.len();
        }
    }

    /// A config file: the limits of every policy.
    fn config(&mut self, text: &str) {
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            self.mistake(error.span().map_or(0, |span| span.start), error.message());
        }
        for (key, value) in table.get_ref() {
            let at = key.span().start;
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("policy", DeValue::Table(policies)) => self.policies(policies),
                ("policy", _) => self.mistake(at, "policy is not a table; expected [policy.NAME]"),
                (name, _) if TABLES.contains(&name) => {}
                (name, _) => self.unknown(at, "table", name, &TABLES),
            }
        }
    }

    fn policies(&mut self, policies: &DeTable<'_>) {
        for (name, policy) in policies {
            let at = name.span().start;
            if let Err(unfit) = Name::new(name.get_ref()) {
                self.mistake(at, unfit.to_string());
            }
            match policy.get_ref() {
                DeValue::Table(policy) => self.policy(at, name.get_ref(), policy),
                _ => self.mistake(at, format!("policy {:?} is not a table", name.get_ref())),
            }
        }
    }

    fn policy(&mut self, at: usize, name: &str, policy: &DeTable<'_>) {
        for (key, value) in policy {
            match key.get_ref().as_ref() {
                word @ ("limits" | "candidate") => self.list(word, value),
                word if POLICY.contains(&word) => {}
                word => self.unknown(key.span().start, "key", word, &POLICY),
            }
        }
        if !policy.contains_key("limits") {
            self.mistake(at, format!("policy {name:?} has no limits; expected limits = [\"…\"]"));
        }
    }

    fn list(&mut self, word: &str, value: &Spanned<DeValue<'_>>) {
        let DeValue::Array(lines) = value.get_ref() else {
            self.mistake(value.span().start, format!("{word} is not a list; expected [\"…\"]"));
            return;
        };
        if lines.is_empty() && word == "limits" {
            self.mistake(value.span().start, "limits is empty, so that everything would pass");
        }
        for line in lines.iter() {
            let Range { start, .. } = line.span();
            match line.get_ref() {
                // The place is that of the text between the quotes.
                DeValue::String(text) => self.limit(text, start + 1),
                _ => self.mistake(start, format!("{word} holds what is not a limit line")),
            }
        }
    }
}
