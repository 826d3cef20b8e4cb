//! The canonical line of a limit. It parses to the same limit, and equal limits print the same
//! line.

use std::fmt::{Formatter, Result};

use super::period::Printed;
use super::spec::{Edge, Rate, Spec};
use crate::time::Span;

/// Writes the part of the line that belongs to the algorithm.
pub(super) fn spec(spec: &Spec, f: &mut Formatter<'_>) -> Result {
    f.write_str(spec.algorithm().name())?;
    match spec {
        Spec::Gcra { rate: of, burst } => bucket(f, *of, *burst),
        Spec::TokenBucket { rate: of, burst, whole } => {
            bucket(f, *of, *burst)?;
            f.write_str(if *whole { " whole" } else { "" })
        }
        Spec::LeakyBucket { size, drip, every } => {
            write!(f, " size {size} drip {drip} every {}", length(*every))
        }
        Spec::Legacy { max, duration, min_interval } => {
            optional(f, "max", *max)?;
            optional(f, "duration", duration.map(length))?;
            optional(f, "min-interval", min_interval.map(length))
        }
        Spec::FixedWindow { count, period, zone } => {
            write!(f, " {count}/{period}")?;
            optional(f, "tz", Some(zone).filter(|zone| !zone.is_utc()))
        }
        Spec::RequestWindow { rate: of }
        | Spec::SlidingLog { rate: of }
        | Spec::SlidingWindow { rate: of } => rate(f, *of),
        Spec::SlidingCounters { rate: of, resolution, edge } => {
            rate(f, *of)?;
            optional(f, "resolution", resolution.map(length))?;
            f.write_str(if *edge == Edge::Lenient { " edge lenient" } else { "" })
        }
        Spec::Ar1 { max, decay, resolution } => {
            write!(f, " max {max} decay {decay} resolution {}", length(*resolution))
        }
        Spec::Concurrency { leases, ttl } => write!(f, " {leases} ttl {}", length(*ttl)),
        Spec::Unlimited => Ok(()),
    }
}

fn length(length: Span) -> Printed {
    Printed { length, bare: false }
}

fn rate(f: &mut Formatter<'_>, rate: Rate) -> Result {
    write!(f, " {}/{}", rate.count, Printed { length: rate.period, bare: true })
}

/// Writes the rate, and the burst unless it is the default.
fn bucket(f: &mut Formatter<'_>, of: Rate, burst: u32) -> Result {
    rate(f, of)?;
    optional(f, "burst", Some(burst).filter(|burst| *burst != of.count))
}

/// Writes a word and its value, if there is one.
pub(super) fn optional(
    f: &mut Formatter<'_>,
    word: &str,
    value: Option<impl std::fmt::Display>,
) -> Result {
    match value {
        Some(value) => write!(f, " {word} {value}"),
        None => Ok(()),
    }
}
