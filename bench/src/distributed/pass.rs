//! The measurements of one node in one turn.

use serde::{Deserialize, Serialize};

use crate::distributed::judge::Admission;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pass {
    pub(crate) checks: u64,
    pub(crate) allowed: u64,
    pub(crate) seconds: f64,
    /// Microseconds within which this share of the checks was answered.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    /// The allowed checks of paced traffic.
    pub(crate) admissions: Vec<Admission>,
}
