//! Rounds: every system has one turn in each, and the median of the rounds is the figure.

use std::time::Duration;

use crate::progress;

/// One measurement.
pub(crate) struct Sample {
    pub(crate) value: f64,
    /// Share of the checks that were allowed, if that is of interest.
    pub(crate) allowed: Option<f64>,
}

impl Sample {
    /// Creates a sample in nanoseconds per check, if each thread made `checks` checks in `time`.
    pub(crate) fn of_checks(time: Duration, checks: u64, threads: usize, allowed: u64) -> Sample {
        let share = allowed as f64 / (checks as f64 * threads as f64);
        Sample { value: time.as_nanos() as f64 / checks as f64, allowed: Some(share) }
    }
}

/// All measurements of one system.
pub(crate) struct Series {
    pub(crate) system: &'static str,
    /// The system with which it is compared.
    pub(crate) against: &'static str,
    samples: Vec<Sample>,
}

/// A system that takes turns with others.
pub(crate) struct Contender<S> {
    pub(crate) name: &'static str,
    pub(crate) against: &'static str,
    pub(crate) system: S,
}

/// Measures each system in turn, round after round, so that a slow phase of the machine affects all of
/// them and not only one.
pub(crate) fn take_turns<S>(
    rounds: usize,
    contenders: &[Contender<S>],
    mut measure: impl FnMut(&S) -> anyhow::Result<Sample>,
) -> anyhow::Result<Vec<Series>> {
    let all = alternate(rounds, contenders.len(), |index| measure(&contenders[index].system))?;
    let series = |(c, samples): (&Contender<S>, _)| Series::new(c.name, c.against, samples);
    Ok(contenders.iter().zip(all).map(series).collect())
}

/// Calls `measure` with each index in turn, round after round. Returns the results of each index, one
/// per round.
pub(crate) fn alternate<T>(
    rounds: usize,
    count: usize,
    mut measure: impl FnMut(usize) -> anyhow::Result<T>,
) -> anyhow::Result<Vec<Vec<T>>> {
    let mut all: Vec<Vec<T>> = (0..count).map(|_| Vec::with_capacity(rounds)).collect();
    for round in 1..=rounds {
        progress::round(round);
        for (index, results) in all.iter_mut().enumerate() {
            results.push(measure(index)?);
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

    /// Returns the median of the ratios within each round, since a slow phase of the machine affects
    /// both.
    pub(crate) fn ratio_to(&self, other: &Series) -> f64 {
        let pairs = self.samples.iter().zip(&other.samples);
        median(pairs.map(|(own, other)| own.value / other.value).collect())
    }

    pub(crate) fn allowed(&self) -> Option<f64> {
        let shares: Option<Vec<f64>> = self.samples.iter().map(|sample| sample.allowed).collect();
        shares.map(median)
    }

    /// Returns the minimum and the maximum.
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
    fn median_of_odd_and_even_counts() {
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
