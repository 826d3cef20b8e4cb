//! Runs a target's corpus in an ordinary test.

use std::fs;
use std::path::{Path, PathBuf};

/// Calls the body of a target with every file of its corpus.
pub(crate) fn each(target: &str, body: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty(), "{} has no files", folder.display());
    for file in files {
        // Shown only if the test fails; the last file is then the one that failed.
        println!("{}", file.display());
        body(&fs::read(&file).unwrap());
    }
}
