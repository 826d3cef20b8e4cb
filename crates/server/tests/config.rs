//! The config file: what it can say, and what exactly is told of every mistake.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "config/fuzz.rs"]
mod fuzz;
#[path = "config/overrides.rs"]
mod overrides;
#[path = "config/policy.rs"]
mod policy;
#[path = "config/rules.rs"]
mod rules;
#[path = "config/said.rs"]
mod said;
#[path = "config/server.rs"]
mod server;
#[path = "config/shape.rs"]
mod shape;
#[path = "config/store.rs"]
mod store;
#[path = "config/syntax.rs"]
mod syntax;
#[path = "config/too_much.rs"]
mod too_much;

use tollgate_server::{Config, Diagnostic};

/// How many classes there are at least.
const LEAST: usize = 210;

/// The file that the design shows.
const DESIGN: &str = include_str!("config/design.toml");

/// All that is told, a line each.
fn lines(told: &[Diagnostic]) -> String {
    told.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn mistakes(text: &str) -> String {
    Config::parse(text).err().map(|mistakes| lines(&mistakes)).unwrap_or_default()
}

#[test]
fn every_class_of_mistakes_is_told_with_its_place() {
    let tables: [(&str, &[(&str, &str)]); 7] = [
        ("syntax", &syntax::CASES),
        ("shape", &shape::CASES),
        ("server", &server::CASES),
        ("store", &store::CASES),
        ("policy", &policy::CASES),
        ("overrides", &overrides::CASES),
        ("rule and lists", &rules::CASES),
    ];
    let (mut classes, mut wrong) = (0, Vec::new());
    for (table, cases) in tables {
        println!("{table}: {} classes", cases.len());
        classes += cases.len();
        for (text, expected) in cases {
            let told = mistakes(text);
            if told != *expected {
                wrong.push(format!("text     {text:?}\nexpected {expected}\ntold     {told}\n"));
            }
        }
    }
    println!("{classes} classes of mistakes");
    assert!(classes >= LEAST);
    assert!(wrong.is_empty(), "{} of {classes}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Whatever is wrong is told at once, in the order of the file.
#[test]
fn the_mistakes_of_all_tables_are_told_together() {
    let text = "[lists]\nallow = 1\n[policy.a]\n[store]\nurl = 1\n[[rule]]\n[server]\nhttp = 1\n\
                [policy.b]\nlimits = [\"gcra 0/s\", \"gcra 1/s\", \"gcra\"]\nx = 1\n";
    let places: Vec<(usize, usize)> =
        Config::parse(text).unwrap_err().iter().map(|told| (told.line, told.column)).collect();
    assert_eq!(places, [(2, 9), (3, 9), (5, 7), (6, 1), (8, 8), (10, 17), (10, 40), (11, 1)]);
}
