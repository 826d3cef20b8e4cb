//! Scripts, assembled from the parts in `lua/` for each shape of call.

mod assemble;
mod compact;
mod decimal;
mod layout;
mod placeholders;
mod records;
mod runs;
#[cfg(test)]
mod samples;
mod sections;
pub(crate) mod steps;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::FixedState;

use crate::format::PartSizes;
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

/// What tests change about the scripts of a store. No setting of a store changes it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScriptOptions {
    pub(crate) part_sizes: PartSizes,
    /// Whether a script counts its steps: see `steps.rs`.
    pub(crate) counts_steps: bool,
}

/// All scripts that were needed so far.
#[derive(Debug)]
pub(crate) struct Scripts {
    options: ScriptOptions,
    known: RwLock<HashMap<Shape, Arc<Script>, FixedState>>,
}

impl Scripts {
    pub(crate) fn new(options: ScriptOptions) -> Scripts {
        Scripts { options, known: RwLock::default() }
    }

    pub(crate) fn of(&self, shape: Shape) -> Arc<Script> {
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&shape) {
            return Arc::clone(known);
        }
        let mut text = assemble::assemble(&shape, &self.options);
        if self.options.counts_steps {
            text = steps::count_steps(&text);
        }
        let script = Arc::new(Script::new(compact::compact(&text)));
        let mut scripts = self.known.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(scripts.entry(shape).or_insert(script))
    }
}
