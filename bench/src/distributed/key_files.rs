//! The keys of the nodes, in files with one key per line.

use std::io;
use std::path::{Path, PathBuf};

use crate::distributed::shape::{Keys, Shape, WarmUp};
use crate::keys;

/// Number of different keys.
const KEYS: u64 = 1_000_000;
/// Number of nodes whose keys are random, each with its own order.
const NODES: usize = 2;

/// A directory with the files.
pub(crate) struct KeyFiles {
    directory: PathBuf,
}

impl KeyFiles {
    /// Writes the files. `draws` is the number of random keys of each node.
    pub(crate) fn create(directory: &Path, draws: u64) -> io::Result<KeyFiles> {
        let files = KeyFiles { directory: directory.to_owned() };
        keys::write_file(&files.path("one"), &["user:hot".to_owned()])?;
        keys::write_file(&files.path("other"), &["user:other".to_owned()])?;
        for node in 0..NODES {
            let seed = node as u64 + 1;
            let zipf = keys::drawn_by_zipf(draws, KEYS, seed);
            keys::write_file(&files.path(&format!("zipf-{node}")), &zipf)?;
            let uniform = keys::drawn(draws, KEYS, seed);
            keys::write_file(&files.path(&format!("uniform-{node}")), &uniform)?;
        }
        Ok(files)
    }

    /// Returns the file for the measurement of a node.
    pub(crate) fn keys(&self, shape: &Shape, node: usize) -> String {
        let name = match shape.keys {
            Keys::One => "one".to_owned(),
            Keys::Zipf => format!("zipf-{node}"),
            Keys::Uniform => format!("uniform-{node}"),
        };
        self.path(&name).display().to_string()
    }

    /// Returns the file for the warm-up of a node.
    pub(crate) fn warm_up(&self, shape: &Shape, node: usize) -> String {
        match shape.warm_up {
            WarmUp::SameKeys => self.keys(shape, node),
            WarmUp::OtherKey => self.path("other").display().to_string(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}
