//! The scripts: one source for each rule, assembled for each shape of policy.

mod assemble;
mod kept;
mod names;
mod sections;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::FixedState;

use crate::call::shape::Shape;

/// What stands first in everything we keep. A version that keeps it otherwise has another number, and
/// knows this one.
pub(crate) const VERSION: u8 = 1;

/// A script, and what Redis knows it by.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) sha: String,
}

impl Script {
    fn new(text: String) -> Script {
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
        let script = Arc::new(Script::new(assemble::assemble(&shape)));
        let mut scripts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(scripts.entry(shape).or_insert(script))
    }
}
