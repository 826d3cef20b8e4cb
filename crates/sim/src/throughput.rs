//! The most that a limit lets pass, whatever the client does.

use tollgate_core::{Edge, Limit, Span, Spec};

/// The most that can pass, whatever the client does.
///
/// ```
/// use tollgate_sim::Throughput;
///
/// let most = Throughput::new(&"fixed-window 5/min".parse()?).unwrap();
/// assert_eq!((most.in_one, most.in_two), (5, 10));
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throughput {
    /// The stretch of time that `in_one` and `in_two` are about, from its first instant to just
    /// before its last.
    pub length: Span,
    /// In one stretch, or in one window if they stand still.
    pub in_one: u64,
    /// In two stretches, or two windows, one after the other.
    pub in_two: u64,
    /// Whether a stretch may begin anywhere, or is one of the limit's own windows.
    pub anywhere: bool,
}

impl Throughput {
    /// Of this limit; `None` if there is no bound, as for leases that can be released.
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
            // Even what came in a lump weighs something until its window is over.
            Spec::SlidingWindow { .. } => (times(2) - 1, (times(3) - 2).max(times(2)), true),
            Spec::Ar1 { decay, .. } => {
                let after = after_a_full_step(limit.max_level()?, decay.to_f64());
                (capacity, capacity + after, false)
            }
            _ => {
                let (one, two) = drained(limit, length)?;
                // Nobody gets more at one instant than fits, however fast it drains.
                let instants = |stretches: u64| times(length.as_micros().saturating_mul(stretches));
                ((capacity + one).min(instants(1)), (capacity + two).min(instants(2)), true)
            }
        };
        Some(Throughput { length, in_one, in_two, anywhere })
    }
}

/// What leaves a bucket within one stretch of time and within two. The last of it leaves with
/// the last instant, which is no longer part of the stretch.
fn drained(limit: &Limit, length: Span) -> Option<(u64, u64)> {
    let rate = limit.rate()?;
    let (count, ticks) = (u128::from(rate.count), u128::from(length.as_micros().max(1)));
    if limit.leak().is_some() {
        // A drop larger than the bucket frees no more than the bucket holds.
        let drop = u64::from(rate.count).min(limit.capacity()?);
        return Some((drop - 1, drop * 2 - 1));
    }
    let within = |stretches: u128| u64::try_from(count * (stretches * ticks - 1) / ticks).ok();
    within(1).zip(within(2))
}

/// What "one window" is for this limit.
fn length_of(limit: &Limit) -> Option<Span> {
    match limit.spec() {
        Spec::FixedWindow { .. } => limit.full_reset_after(),
        Spec::Ar1 { resolution, .. } => Some(*resolution),
        _ => limit.rate().map(|rate| rate.period),
    }
}

/// What fits into a step that follows one in which all was taken.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 1 to a million, rounded down"
)]
fn after_a_full_step(max: f64, decay: f64) -> u64 {
    (max - max.floor() / decay) as u64
}

/// How often a client can take all there is within so many windows, if the slot at the edge is
/// forgotten early: at the end of a slot, when that slot goes, and then whenever one more does.
fn bursts(width: Span, window: Span, windows: u64) -> u64 {
    let (width, window) = (width.as_micros(), window.as_micros());
    let after_first = (windows * window + width).checked_sub(window + 2);
    let apart = (window / width).max(1) * width;
    after_first.map_or(windows, |ticks| 2 + ticks / apart)
}
