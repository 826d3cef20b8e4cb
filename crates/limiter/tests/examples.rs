//! The examples run, and the documents name no others. `cargo test` builds them before it runs this.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Runs an example as a program of its own, and returns what it prints.
fn run(name: &str) -> String {
    let test = env::current_exe().unwrap();
    let built: PathBuf = test.ancestors().nth(2).unwrap().join("examples").join(name);
    let built = built.with_extension(env::consts::EXE_EXTENSION);
    assert!(built.exists(), "{} is not built: cargo build --examples", built.display());
    let output = Command::new(built).env_remove("TOLLGATE_STORE").output().unwrap();
    assert!(output.status.success(), "{name}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_first_example_runs() {
    let printed = run("first");
    let (allowed, denied) = ("request 3: allowed", "request 4: denied, try again in ");
    assert!(printed.contains(allowed) && printed.contains(denied), "{printed}");
}

#[test]
fn the_example_of_many_processes_runs() {
    let printed = run("many_processes");
    let attempts = printed.matches("alice from 203.0.113.9 may try a password").count();
    assert!((5..=7).contains(&attempts), "{printed}");
    assert!(printed.contains("report: running, 19 more could"), "{printed}");
    assert!(printed.contains("report: done, 20 could run now"), "{printed}");
}

#[test]
fn the_example_of_outgoing_calls_runs() {
    let printed = run("outgoing");
    assert!(printed.ends_with("\n0 refused\n"), "{printed}");
}

#[test]
fn the_guide_names_only_examples_that_are_tested() {
    let guide = include_str!("../../../docs/library.md");
    let named: Vec<&str> = guide.split("cargo run -p tollgate --example ").skip(1).collect();
    for name in &named {
        let name = name.split('`').next().unwrap();
        assert!(["first", "many_processes", "outgoing"].contains(&name), "{name}");
    }
    assert_eq!(named.len(), 2);
}
