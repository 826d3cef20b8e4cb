//! The config file: valid files, and the exact message of every error.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "config/distribution.rs"]
mod distribution;
#[path = "config/fuzz.rs"]
mod fuzz;
#[path = "config/limits.rs"]
mod limits;
#[path = "config/overrides.rs"]
mod overrides;
#[path = "config/policy.rs"]
mod policy;
#[path = "config/rules.rs"]
mod rules;
#[path = "config/server.rs"]
mod server;
#[path = "config/shape.rs"]
mod shape;
#[path = "config/store.rs"]
mod store;
#[path = "config/syntax.rs"]
mod syntax;
#[path = "config/values.rs"]
mod values;

use tollgate_server::{Config, Diagnostic};

/// Minimum number of cases.
const MIN_CASES: usize = 210;

/// The example of the design.
const DESIGN: &str = include_str!("config/design.toml");

/// Formats diagnostics, one in each line.
fn lines(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn errors(text: &str) -> String {
    Config::parse(text).err().map(|errors| lines(&errors)).unwrap_or_default()
}

#[test]
fn every_error_has_its_exact_message_and_position() {
    let tables: [(&str, &[(&str, &str)]); 8] = [
        ("syntax", &syntax::CASES),
        ("shape", &shape::CASES),
        ("server", &server::CASES),
        ("store", &store::CASES),
        ("policy", &policy::CASES),
        ("distribution", &distribution::CASES),
        ("overrides", &overrides::CASES),
        ("rule and lists", &rules::CASES),
    ];
    let (mut count, mut wrong) = (0, Vec::new());
    for (table, cases) in tables {
        println!("{table}: {} cases", cases.len());
        count += cases.len();
        for (text, expected) in cases {
            let actual = errors(text);
            if actual != *expected {
                wrong.push(format!("text     {text:?}\nexpected {expected}\nactual   {actual}\n"));
            }
        }
    }
    println!("{count} cases");
    assert!(count >= MIN_CASES);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

/// All errors are reported at once, in the order of the file.
#[test]
fn errors_of_all_tables_are_reported_together() {
    let text = "[lists]\nallow = 1\n[policy.a]\n[store]\nurl = 1\n[[rule]]\n[server]\nhttp = 1\n\
                [policy.b]\nlimits = [\"gcra 0/s\", \"gcra 1/s\", \"gcra\"]\nx = 1\n";
    let positions: Vec<(usize, usize)> =
        Config::parse(text).unwrap_err().iter().map(|error| (error.line, error.column)).collect();
    assert_eq!(positions, [(2, 9), (3, 9), (5, 7), (6, 1), (8, 8), (10, 17), (10, 40), (11, 1)]);
}
