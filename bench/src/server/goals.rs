//! The goals. All are ratios from one run, so that the machine matters less.

use crate::goals::{Bound, Goal};
use crate::server::bench::{BYTES, HTTP, P1, P16, P64, THREADS};

const OURS: &str = "tollgate";

pub(crate) const ALL: [Goal; 6] = [
    Goal::ratio(P1, OURS, Bound::AtLeast(0.95)),
    Goal::ratio(P16, OURS, Bound::AtLeast(0.78)),
    Goal::ratio(P64, OURS, Bound::AtLeast(0.80)),
    Goal::ratio(HTTP, OURS, Bound::AtLeast(1.4)),
    Goal::ratio(THREADS, "tollgate, two threads", Bound::AtLeast(0.85)),
    Goal::ratio(BYTES, OURS, Bound::AtMost(0.4)),
];
