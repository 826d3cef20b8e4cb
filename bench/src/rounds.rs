//! Rounds: every system has its turn in each, and the median counts.

use std::time::Duration;

use crate::progress;

/// One measurement.
pub(crate) struct Sample {
    pub(crate) value: f64,
    /// Which share of the checks was allowed, where that says something.
    pub(crate) allowed: Option<f64>,
}

impl Sample {
    /// The nanoseconds of one check, if each of these threads made so many in that time.
    pub(crate) fn of_checks(time: Duration, checks: u64, threads: usize, allowed: u64) -> Sample {
        let share = allowed as f64 / (checks as f64 * threads as f64);
        Sample { value: time.as_nanos() as f64 / checks as f64, allowed: Some(share) }
    }
}

/// All measurements of one system.
pub(crate) struct Series {
    pub(crate) system: &'static str,
    /// The system it is compared with.
    pub(crate) against: &'static str,
    samples: Vec<Sample>,
}

/// One of those that take turns.
pub(crate) struct Contender<S> {
    pub(crate) name: &'static str,
    pub(crate) against: &'static str,
    pub(crate) system: S,
}

/// Measures each in turn, round after round. What slows the machine for a while then slows all of
/// them, and not just the one whose turn it was.
pub(crate) fn take_turns<S>(
    rounds: usize,
    contenders: &[Contender<S>],
    mut measure: impl FnMut(&S) -> anyhow::Result<Sample>,
) -> anyhow::Result<Vec<Series>> {
    let all = alternate(rounds, contenders.len(), |place| measure(&contenders[place].system))?;
    let series = |(c, samples): (&Contender<S>, _)| Series::new(c.name, c.against, samples);
    Ok(contenders.iter().zip(all).map(series).collect())
}

/// The same for whatever is measured: calls with the place of each, and returns what came of it for
/// each, one of every round.
pub(crate) fn alternate<T>(
    rounds: usize,
    places: usize,
    mut measure: impl FnMut(usize) -> anyhow::Result<T>,
) -> anyhow::Result<Vec<Vec<T>>> {
    let mut all: Vec<Vec<T>> = (0..places).map(|_| Vec::with_capacity(rounds)).collect();
    for round in 1..=rounds {
        progress::round(round);
        for (place, results) in all.iter_mut().enumerate() {
            results.push(measure(place)?);
        }
    }
    Ok(all)
}

impl Series {
    pub(crate) fn new(system: &'static str, against: &'static str, samples: Vec<Sample>) -> Series {
        Series { system, against, samples }
    }

    pub(crate) fn median(&self) -> f64 {
        median(self.samples.iter().map(|sample| sample.value).collect())
    }

    /// How much it is of what the other had in the same round: what slows the machine for a while slows
    /// both.
    pub(crate) fn ratio_to(&self, other: &Series) -> f64 {
        let pairs = self.samples.iter().zip(&other.samples);
        median(pairs.map(|(own, other)| own.value / other.value).collect())
    }

    pub(crate) fn allowed(&self) -> Option<f64> {
        let shares: Option<Vec<f64>> = self.samples.iter().map(|sample| sample.allowed).collect();
        shares.map(median)
    }

    /// The lowest and the highest.
    pub(crate) fn range(&self) -> (f64, f64) {
        let values = || self.samples.iter().map(|sample| sample.value);
        (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (middle, odd) = (values.len() / 2, values.len() % 2 == 1);
    if odd { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![5.0, 1.0, 100.0]), 5.0);
        assert_eq!(median(vec![1.0, 4.0, 2.0, 100.0]), 3.0);
    }

    #[test]
    fn systems_alternate_within_a_round() {
        let contender = |name| Contender { name, against: "a", system: name };
        let mut order = Vec::new();
        let all = take_turns(2, &[contender("a"), contender("b")], |name| {
            order.push(*name);
            Ok(Sample { value: order.len() as f64, allowed: None })
        });
        assert_eq!(order, ["a", "b", "a", "b"]);
        let all = all.unwrap();
        assert_eq!((all[0].median(), all[1].range()), (2.0, (2.0, 4.0)));
        assert_eq!(all[1].ratio_to(&all[0]), f64::midpoint(2.0, 4.0 / 3.0));
    }
}
