//! Scripts, assembled from the parts in `lua/` for each shape of call.

mod assemble;
mod compact;
mod placeholders;
mod records;
mod runs;
#[cfg(test)]
mod samples;
mod sections;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::FixedState;

use crate::shape::Shape;

/// A script, and the SHA-1 by which Redis finds it.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) sha: String,
}

impl Script {
    pub(crate) fn new(text: String) -> Script {
        let mut sha = String::with_capacity(40);
        for byte in sha1_smol::Sha1::from(&text).digest().bytes() {
            // Writing to a string cannot fail.
            let _ = write!(sha, "{byte:02x}");
        }
        Script { text, sha }
    }
}

/// All scripts that were needed so far.
#[derive(Debug, Default)]
pub(crate) struct Scripts(RwLock<HashMap<Shape, Arc<Script>, FixedState>>);

impl Scripts {
    pub(crate) fn of(&self, shape: Shape) -> Arc<Script> {
        if let Some(known) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&shape) {
            return Arc::clone(known);
        }
        let text = compact::compact(&assemble::assemble(&shape));
        let script = Arc::new(Script::new(text));
        let mut scripts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(scripts.entry(shape).or_insert(script))
    }
}
