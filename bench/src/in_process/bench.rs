//! The benches by name.

use crate::in_process::plan::Plan;
use crate::in_process::{bytes, hot, ids, policies, uniform};
use crate::rounds::Series;

pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) about: &'static str,
    pub(crate) measure: fn(&Plan) -> anyhow::Result<Vec<Series>>,
}

pub(crate) const ALL: [Bench; 13] = [
    Bench {
        name: "hot-1t",
        unit: "ns",
        about: "one thread checks one key",
        measure: hot::one_thread,
    },
    Bench {
        name: "hot-2t",
        unit: "ns",
        about: "two threads check one key; time of a check in each",
        measure: hot::two_threads,
    },
    Bench {
        name: "uniform-1t",
        unit: "ns",
        about: "one thread checks random keys of a million",
        measure: uniform::one_thread,
    },
    Bench {
        name: "uniform-2t",
        unit: "ns",
        about: "two threads check random keys of a million; time of a check in each",
        measure: uniform::two_threads,
    },
    Bench {
        name: "batch16",
        unit: "ns",
        about: "random keys of a million, 16 in a call if the system supports it; time per key",
        measure: uniform::batches,
    },
    Bench {
        name: "uniform-denied",
        unit: "ns",
        about: "one thread checks random keys of a million, all denied",
        measure: uniform::denied,
    },
    Bench {
        name: "hot-allowed",
        unit: "ns",
        about: "one thread checks one key, all allowed: policies of several limits, limits with slots",
        measure: policies::allowed,
    },
    Bench {
        name: "hot-denied",
        unit: "ns",
        about: "the same, all denied",
        measure: policies::denied,
    },
    Bench {
        name: "check-release",
        unit: "ns",
        about: "one thread takes a lease under an id, and gives it back; time of both",
        measure: policies::check_and_release,
    },
    Bench {
        name: "fresh-id",
        unit: "ns",
        about: "one thread checks one key, each time under a new id, which is remembered",
        measure: ids::fresh,
    },
    Bench {
        name: "bytes-per-key-1m",
        unit: "bytes",
        about: "memory per key, with a million keys",
        measure: bytes::one_million,
    },
    Bench {
        name: "bytes-per-key-5m",
        unit: "bytes",
        about: "memory per key, with five million keys",
        measure: bytes::five_million,
    },
    Bench {
        name: "bytes-per-id-1m",
        unit: "bytes",
        about: "memory per remembered id, with a million ids of one key; beside it, memory per key",
        measure: bytes::ids,
    },
];
