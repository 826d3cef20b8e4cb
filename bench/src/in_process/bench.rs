//! The benches by name.

use crate::in_process::plan::Plan;
use crate::in_process::{bytes, hot, uniform};
use crate::rounds::Series;

pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) about: &'static str,
    pub(crate) measure: fn(&Plan) -> anyhow::Result<Vec<Series>>,
}

pub(crate) const ALL: [Bench; 7] = [
    Bench {
        name: "hot-1t",
        unit: "ns",
        about: "a check of one key, again and again",
        measure: hot::one_thread,
    },
    Bench {
        name: "hot-2t",
        unit: "ns",
        about: "a check of one key that two threads ask about, in each of them",
        measure: hot::two_threads,
    },
    Bench {
        name: "uniform-1t",
        unit: "ns",
        about: "a check of one of a million keys, drawn at random",
        measure: uniform::one_thread,
    },
    Bench {
        name: "uniform-2t",
        unit: "ns",
        about: "a check of one of a million keys that two threads draw, in each of them",
        measure: uniform::two_threads,
    },
    Bench {
        name: "batch16",
        unit: "ns",
        about: "one of a million keys, of 16 in a call where there is such a call",
        measure: uniform::batches,
    },
    Bench {
        name: "bytes-per-key-1m",
        unit: "bytes",
        about: "memory for each of a million keys",
        measure: bytes::one_million,
    },
    Bench {
        name: "bytes-per-key-5m",
        unit: "bytes",
        about: "memory for each of five million keys",
        measure: bytes::five_million,
    },
];
