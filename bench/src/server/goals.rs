//! The goals. All are ratios from one run, so that the machine matters less.

use crate::goals::{Bound, Goal};
use crate::server::bench::{BYTES, HTTP, P1, P16, P64, THREADS};

const OURS: &str = "tollgate";

pub(crate) const ALL: [Goal; 6] = [
    Goal { bench: P1, system: OURS, bound: Bound::AtLeast(0.95) },
    Goal { bench: P16, system: OURS, bound: Bound::AtLeast(0.75) },
    Goal { bench: P64, system: OURS, bound: Bound::AtLeast(0.65) },
    Goal { bench: HTTP, system: OURS, bound: Bound::AtLeast(1.4) },
    Goal { bench: THREADS, system: "tollgate, two threads", bound: Bound::AtLeast(0.85) },
    Goal { bench: BYTES, system: OURS, bound: Bound::AtMost(0.4) },
];
