//! The arguments of `distributed` and `distributed-node`.

use crate::distributed::shape::{self, Shape};
use crate::distributed::system::System;
use crate::options::Options;

/// Fewer than in process, since the turns are longer.
const MIN_ROUNDS: usize = 5;

#[derive(clap::Args)]
pub(crate) struct DistributedArgs {
    #[command(flatten)]
    pub(crate) options: Options,
    /// Measure only this traffic (`hot-key`), or only this system (`hot-key/strict`) and those it is
    /// compared with; can be repeated
    #[arg(long, value_name = "NAME", value_parser = parse)]
    only: Vec<(&'static str, Option<System>)>,
}

#[derive(clap::Args)]
pub(crate) struct DistributedNodeArgs {
    pub(crate) port: u16,
    pub(crate) callers: usize,
    pub(crate) system: String,
    pub(crate) shape: String,
}

impl DistributedArgs {
    pub(crate) fn rounds(&self) -> anyhow::Result<usize> {
        self.options.rounds(MIN_ROUNDS)
    }

    pub(crate) fn includes(&self, shape: &Shape) -> bool {
        self.only.is_empty() || self.only.iter().any(|(name, _)| *name == shape.name)
    }

    pub(crate) fn includes_system(&self, shape: &Shape, system: System) -> bool {
        let matches = |(name, only): &(&str, Option<System>)| {
            *name == shape.name && only.is_none_or(|only| only == system)
        };
        self.only.is_empty() || shape.bases.contains(&system) || self.only.iter().any(matches)
    }
}

/// Returns the traffic and the system of a name such as `hot-key` or `hot-key/strict`.
fn parse(name: &str) -> Result<(&'static str, Option<System>), String> {
    let (shape, system) = name.split_once('/').map_or((name, None), |(a, b)| (a, Some(b)));
    let Some(shape) = shape::find(shape) else {
        return Err(format!("expected one of {}", shape::ALL.map(|shape| shape.name).join(", ")));
    };
    let Some(system) = system else { return Ok((shape.name, None)) };
    let found = shape.systems.iter().find(|found| found.short() == system);
    found.map(|system| (shape.name, Some(*system))).ok_or_else(|| {
        let names: Vec<String> = shape.systems.iter().map(|system| shape.bench(*system)).collect();
        format!("expected one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_traffic_or_of_one_system() {
        assert_eq!(parse("zipf"), Ok(("zipf", None)));
        assert_eq!(parse("zipf/no-layers"), Ok(("zipf", Some(System::NoLayers))));
        assert!(parse("hotkey").unwrap_err().contains("hot-key, zipf"));
        assert!(parse("hot-key/no-layers").unwrap_err().contains("hot-key/strict"));
    }
}
