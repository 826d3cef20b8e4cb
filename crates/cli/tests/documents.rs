//! Every shell command in the documents runs, and prints what the documents say it prints.
//!
//! A fence `sh` is run by a shell in a folder of its own, with the built binary as `tollgate`, against servers that
//! the test starts. Exceptions are marked with a reason: ```` ```sh no-run: installs a crate ````. A command that is to
//! fail is marked ```` ```sh fails ````; what it prints are its error messages, too. A fence `text` or
//! `json` that follows a command with nothing but empty lines between is what it prints: these lines and no others,
//! with durations left out where a clock is involved; a line `…` stands for any lines. A fence with a file name, such
//! as ```` ```toml tollgate.toml ````, is written to that file for the commands that follow.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "documents/fences.rs"]
mod fences;
#[path = "documents/printed.rs"]
mod printed;
#[path = "documents/scene.rs"]
mod scene;
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use fences::Fence;
use scene::Scene;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut documents: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    documents.sort();
    ["README.md", "ALGORITHMS.md", "CONTRIBUTING.md", "SECURITY.md"]
        .into_iter()
        .map(|name| root().join(name))
        .chain(documents)
        .collect()
}

#[test]
fn documented_commands_run_and_print_what_is_documented() {
    let mut failures = Vec::new();
    let mut commands = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let name = document.file_name().unwrap().to_string_lossy().into_owned();
        let fences = fences::parse(&text);
        let Some(mut scene) = Scene::new(&root()) else { return };
        for (index, fence) in fences.iter().enumerate() {
            if let Some(file) = fence.file() {
                scene.write(file, &fence.text);
            }
            let Some(reason) = fence.command() else { continue };
            if let Some(reason) = reason {
                assert!(!reason.is_empty(), "{name}:{}: no-run without a reason", fence.line);
                continue;
            }
            commands += 1;
            let expected = fences.get(index + 1).filter(|next| next.is_output_of(fence));
            if let Err(failure) = run(&mut scene, fence, expected) {
                failures.push(format!("{name}:{}: {failure}", fence.line));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(commands > 20, "only {commands} commands were found");
}

fn run(scene: &mut Scene, fence: &Fence, expected: Option<&Fence>) -> Result<(), String> {
    let output = match fence.fails() {
        true => scene.run_failing(&fence.text)?,
        false => scene.run(&fence.text)?,
    };
    match expected {
        Some(expected) => printed::compare(&expected.text, &output),
        None => Ok(()),
    }
}
