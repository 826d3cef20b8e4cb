//! A random policy: usually a single limit, sometimes two or three.

use super::limits::{legacy, limit, unlimited};
use super::{Algorithm, Rng};
use crate::Limit;

pub(crate) struct Policy {
    pub lines: Vec<String>,
    pub limits: Vec<Limit>,
}

impl Policy {
    /// Returns a policy with at least one limit of `algorithm`.
    pub fn random(rng: &mut Rng, algorithm: Algorithm) -> Policy {
        let size = if rng.percent(20) { rng.between(2, 3) } else { 1 };
        let place = rng.between(0, size - 1);
        let (lines, limits) = (0..size)
            .map(|i| match i == place {
                true => limit(rng, algorithm),
                false => another(rng),
            })
            .unzip();
        Policy { lines, limits }
    }
}

fn another(rng: &mut Rng) -> (String, Limit) {
    match rng.between(0, 11) {
        0 => unlimited(),
        1 => legacy(rng),
        _ => {
            let algorithm = rng.pick(&Algorithm::ALL);
            limit(rng, algorithm)
        }
    }
}
