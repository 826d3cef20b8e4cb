//! The maximum that a limit lets through.

use tollgate_core::{Edge, Limit, Span, Spec};

/// The maximum that a limit lets through, however the client times its requests.
///
/// ```
/// use tollgate_sim::Throughput;
///
/// let throughput = Throughput::new(&"fixed-window 5/min".parse()?).unwrap();
/// assert_eq!((throughput.in_one, throughput.in_two), (5, 10));
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throughput {
    /// Length of the interval that `in_one` and `in_two` refer to. Its start is included, its end
    /// is not.
    pub length: Span,
    /// Maximum cost in one interval.
    pub in_one: u64,
    /// Maximum cost in two consecutive intervals.
    pub in_two: u64,
    /// Whether the interval may begin at any instant. Otherwise it is one of the limit's windows.
    pub anywhere: bool,
}

impl Throughput {
    /// Computes the maximum for a limit. Returns `None` if there is none, as for leases, which can be
    /// released at any time.
    #[must_use]
    pub fn new(limit: &Limit) -> Option<Throughput> {
        let capacity = limit.capacity()?;
        let length = length_of(limit)?;
        let times = |factor: u64| capacity.saturating_mul(factor);
        let (in_one, in_two, anywhere) = match limit.spec() {
            Spec::FixedWindow { .. } | Spec::RequestWindow { .. } => (capacity, times(2), false),
            Spec::SlidingLog { .. } | Spec::SlidingCounters { edge: Edge::Strict, .. } => {
                (capacity, times(2), true)
            }
            Spec::SlidingCounters { .. } => {
                let width = limit.slot_width()?;
                (times(bursts(width, length, 1)), times(bursts(width, length, 2)), true)
            }
            // Even a burst at the start of a window still counts a little until that window is over.
            Spec::SlidingWindow { .. } => (times(2) - 1, (times(3) - 2).max(times(2)), true),
            Spec::Ar1 { decay, .. } => {
                let after = after_a_full_step(limit.max_level()?, decay.to_f64());
                (capacity, capacity + after, false)
            }
            _ => {
                let (one, two) = drained(limit, length)?;
                // However fast the bucket drains, no more than its capacity passes at one instant.
                let instants = |intervals: u64| times(length.as_micros().saturating_mul(intervals));
                ((capacity + one).min(instants(1)), (capacity + two).min(instants(2)), true)
            }
        };
        Some(Throughput { length, in_one, in_two, anywhere })
    }
}

/// Returns what leaves a bucket within one interval and within two. The last unit leaves at the
/// end of the interval, which is no longer part of it.
fn drained(limit: &Limit, length: Span) -> Option<(u64, u64)> {
    let rate = limit.rate()?;
    let (count, ticks) = (u128::from(rate.count), u128::from(length.as_micros().max(1)));
    if limit.leak().is_some() {
        // A drip larger than the bucket frees no more than the bucket holds.
        let drip = u64::from(rate.count).min(limit.capacity()?);
        return Some((drip - 1, drip * 2 - 1));
    }
    let within = |intervals: u128| u64::try_from(count * (intervals * ticks - 1) / ticks).ok();
    within(1).zip(within(2))
}

/// Returns the length of one interval for this limit.
fn length_of(limit: &Limit) -> Option<Span> {
    match limit.spec() {
        Spec::FixedWindow { .. } => limit.full_reset_after(),
        Spec::Ar1 { resolution, .. } => Some(*resolution),
        _ => limit.rate().map(|rate| rate.period),
    }
}

/// Returns what fits into a resolution step after one in which all was taken.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 1 to a million, rounded down"
)]
fn after_a_full_step(max: f64, decay: f64) -> u64 {
    (max - max.floor() / decay) as u64
}

/// Returns how often a client can take the whole limit within this number of windows, if the
/// oldest slot is dropped early: at the end of a slot, when that slot is dropped, and then each
/// time another slot is dropped.
fn bursts(width: Span, window: Span, windows: u64) -> u64 {
    let (width, window) = (width.as_micros(), window.as_micros());
    let after_first = (windows * window + width).checked_sub(window + 2);
    let apart = (window / width).max(1) * width;
    after_first.map_or(windows, |ticks| 2 + ticks / apart)
}
