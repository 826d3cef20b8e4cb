//! What is measured, and of whom. The first of each list is the one the others are held against.

use crate::server::plan::Plan;
use crate::server::systems::{
    CRAB, HTTP_CRAB, HTTP_OURS, LASTING, LASTING_CRAB, NGINX, ONE_LOOP, OURS, REDIS_INCR,
    REDIS_PING, Running, System, TWO_LOOPS,
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
pub(crate) const LOOPS: &str = "two-threads";
pub(crate) const BYTES: &str = "bytes-per-key";

pub(crate) const NAMES: [&str; 6] = [P1, P16, P64, HTTP, LOOPS, BYTES];

const PER_CPU_SECOND: &str = "/cpu-s";
const RESP: &[&System] = &[&REDIS_PING, &REDIS_INCR, &CRAB, &OURS];

pub(crate) const ALL: [Bench; 6] = [
    Bench {
        name: P1,
        unit: PER_CPU_SECOND,
        about: "the Redis protocol, 50 connections, one command at a time; more is better",
        systems: RESP,
        value: |one, plan| load::resp(one, plan, 1),
    },
    Bench {
        name: P16,
        unit: PER_CPU_SECOND,
        about: "the same, 16 commands at a time",
        systems: RESP,
        value: |one, plan| load::resp(one, plan, 16),
    },
    Bench {
        name: P64,
        unit: PER_CPU_SECOND,
        about: "the same, 64 commands at a time",
        systems: RESP,
        value: |one, plan| load::resp(one, plan, 64),
    },
    Bench {
        name: HTTP,
        unit: PER_CPU_SECOND,
        about: "HTTP, 50 connections kept alive, one request at a time; more is better",
        systems: &[&HTTP_CRAB, &NGINX, &HTTP_OURS],
        value: load::http,
    },
    Bench {
        name: LOOPS,
        unit: PER_CPU_SECOND,
        about: "16 commands at a time, the server on both cores; more is better",
        systems: &[&ONE_LOOP, &TWO_LOOPS],
        value: |one, plan| load::resp(one, plan, 16),
    },
    Bench {
        name: BYTES,
        unit: "bytes",
        about: "how much the process grows for each of a million keys; less is better",
        systems: &[&LASTING_CRAB, &LASTING],
        value: bytes::per_key,
    },
];
