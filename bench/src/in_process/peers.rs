//! The peers, one file each, as their own documentation shows them.

mod governor;
mod leaky_bucket;
mod limitador;
mod naive;
mod ratelimit;
mod throttlecrab;

use crate::in_process::limit::Limit;
use crate::in_process::system::System;

/// Peers with a bucket for each key.
pub(crate) const KEYED: &[&str] = &["governor", "throttlecrab", "limitador", "naive map"];

/// Peers with one bucket and no key; they can only be compared with a hot key.
pub(crate) const ONE_BUCKET: &[&str] = &["governor direct", "ratelimit", "leaky-bucket"];

/// The base peer with a cached clock, which a thread updates regularly.
pub(crate) const CACHED: &[&str] = &["governor cached clock"];

pub(crate) fn build(name: &str, limit: &Limit) -> anyhow::Result<Option<Box<dyn System>>> {
    Ok(Some(match name {
        "governor" => Box::new(governor::Keyed::new(limit)?),
        "governor two checks" => Box::new(governor::Two::new(limit)?),
        "governor three checks" => Box::new(governor::Three::new(limit)?),
        "governor cached clock" => Box::new(governor::Cached::new(limit)?),
        "governor direct" => Box::new(governor::Direct::new(limit)?),
        "throttlecrab" => Box::new(throttlecrab::Locked::new(limit)?),
        "limitador" => Box::new(limitador::InMemory::new(limit)?),
        "naive map" => Box::new(naive::Map::new(limit)),
        "ratelimit" => Box::new(ratelimit::Bucket::new(limit)?),
        "leaky-bucket" => Box::new(leaky_bucket::Bucket::new(limit)?),
        _ => return Ok(None),
    }))
}
