//! The benches and their systems. The others are compared with the first system of each list.

use crate::server::plan::Plan;
use crate::server::systems::{
    CRAB, HTTP_CRAB, HTTP_OURS, LASTING, LASTING_CRAB, NGINX, ONE_THREAD, OURS, REDIS_INCR,
    REDIS_PING, Running, System, TWO_THREADS,
};
use crate::server::{bytes, load};

pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) about: &'static str,
    pub(crate) systems: &'static [&'static System],
    pub(crate) value: fn(&Running, &Plan) -> anyhow::Result<f64>,
}

pub(crate) const P1: &str = "resp-p1";
pub(crate) const P16: &str = "resp-p16";
pub(crate) const P64: &str = "resp-p64";
pub(crate) const HTTP: &str = "http";
pub(crate) const THREADS: &str = "two-threads";
pub(crate) const BYTES: &str = "bytes-per-key";

pub(crate) const NAMES: [&str; 6] = [P1, P16, P64, HTTP, THREADS, BYTES];

const PER_CPU_SECOND: &str = "/cpu-s";
const RESP: &[&System] = &[&REDIS_PING, &REDIS_INCR, &CRAB, &OURS];

pub(crate) const ALL: [Bench; 6] = [
    Bench {
        name: P1,
        unit: PER_CPU_SECOND,
        about: "Redis protocol, 50 connections, one command at a time; more is better",
        systems: RESP,
        value: |process, plan| load::resp(process, plan, 1),
    },
    Bench {
        name: P16,
        unit: PER_CPU_SECOND,
        about: "Redis protocol, 50 connections, 16 commands at a time; more is better",
        systems: RESP,
        value: |process, plan| load::resp(process, plan, 16),
    },
    Bench {
        name: P64,
        unit: PER_CPU_SECOND,
        about: "Redis protocol, 50 connections, 64 commands at a time; more is better",
        systems: RESP,
        value: |process, plan| load::resp(process, plan, 64),
    },
    Bench {
        name: HTTP,
        unit: PER_CPU_SECOND,
        about: "HTTP, 50 connections kept alive, one request at a time; more is better",
        systems: &[&HTTP_CRAB, &NGINX, &HTTP_OURS],
        value: load::http,
    },
    Bench {
        name: THREADS,
        unit: PER_CPU_SECOND,
        about: "Redis protocol, 16 commands at a time, server on both cores; more is better",
        systems: &[&ONE_THREAD, &TWO_THREADS],
        value: |process, plan| load::resp(process, plan, 16),
    },
    Bench {
        name: BYTES,
        unit: "bytes",
        about: "growth of the process per key, with a million keys; less is better",
        systems: &[&LASTING_CRAB, &LASTING],
        value: bytes::per_key,
    },
];
