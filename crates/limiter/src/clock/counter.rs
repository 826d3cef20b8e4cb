//! A fast counter of microseconds.

#[cfg(not(feature = "quanta"))]
use std::time::Instant;

/// Microseconds since the start, by the processor's time stamp counter.
#[cfg(feature = "quanta")]
pub(super) struct Counter {
    clock: quanta::Clock,
    start: u64,
    /// Microseconds per count, in units of 2^-64.
    scale: u64,
}

#[cfg(feature = "quanta")]
impl Counter {
    pub(super) fn start() -> Counter {
        let clock = quanta::Clock::new();
        // A multiplication by the scale replaces two multiplications and a division.
        let nanos = clock.delta_as_nanos(0, 1 << SCALE_BITS);
        let scale = (u128::from(nanos) << (u64::BITS - SCALE_BITS)) / 1_000;
        let scale = u64::try_from(scale).unwrap_or(u64::MAX);
        Counter { start: clock.raw(), scale, clock }
    }

    #[inline]
    pub(super) fn micros(&self) -> u64 {
        let count = self.clock.raw().saturating_sub(self.start);
        high(u128::from(count).wrapping_mul(u128::from(self.scale)))
    }
}

/// Binary logarithm of the number of counts that the scale is computed over: some minutes, which gives
/// a precision of one part in 10^12.
#[cfg(feature = "quanta")]
const SCALE_BITS: u32 = 40;

#[cfg(feature = "quanta")]
fn high(product: u128) -> u64 {
    (product >> 64) as u64
}

/// Microseconds since the start, by the system's monotonic clock.
#[cfg(not(feature = "quanta"))]
pub(super) struct Counter(Instant);

#[cfg(not(feature = "quanta"))]
impl Counter {
    pub(super) fn start() -> Counter {
        Counter(Instant::now())
    }

    #[inline]
    pub(super) fn micros(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
