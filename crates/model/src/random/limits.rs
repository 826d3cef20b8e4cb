//! Random limits: mostly small and typical numbers, so that ties and denials happen, sometimes
//! awkward fractions, sometimes the greatest numbers of a limit.

use super::period::{
    DAY, HOUR, LONGEST_WINDOW, MICROSECOND, MILLISECOND, MINUTE, Period, SECOND, WEEK, period,
    written,
};
use super::{Algorithm, Rng};
use crate::{Limit, Rule, Window};

const GREATEST_NUMBER: u64 = (1 << 32) - 1;
const LONGEST_DRAIN: u64 = 1 << 51;
/// Most requests of a log, slots of counters, and leases.
const MOST_ENTRIES: u64 = 10_000;

/// All instants of a comparison are before this.
pub(crate) const END_OF_TIME: u64 = 1 << 52;

/// Returns a random limit of this algorithm, as a line and as a limit of the model.
pub fn limit(rng: &mut Rng, algorithm: Algorithm) -> (String, Limit) {
    let (mut line, rule) = match algorithm {
        Algorithm::Gcra => flow(rng, "gcra"),
        Algorithm::TokenBucket if rng.percent(30) => whole(rng),
        Algorithm::TokenBucket => flow(rng, "token-bucket"),
        Algorithm::LeakyBucket => leaky(rng),
        Algorithm::FixedWindow => fixed(rng),
        Algorithm::RequestWindow => request(rng),
        Algorithm::SlidingLog => log(rng),
        Algorithm::SlidingCounters => counters(rng),
        Algorithm::SlidingWindow => estimate(rng),
        Algorithm::Ar1 => ar1(rng),
        Algorithm::Concurrency => concurrency(rng),
    };
    let count_denied = may_count_denied(&rule) && rng.percent(17);
    if count_denied {
        line.push_str(" count-denied");
    }
    (line, Limit { rule, count_denied })
}

/// Returns whether denied attempts may count: not where there is a slot for each of too many instants.
fn may_count_denied(rule: &Rule) -> bool {
    match rule {
        Rule::Slots { window, resolution, .. } => {
            *resolution > 1 && window / resolution + 2 <= MOST_ENTRIES
        }
        _ => true,
    }
}

/// Returns the limit without a bound.
pub(crate) fn unlimited() -> (String, Limit) {
    let rule = Rule::Unlimited;
    let count_denied = false;
    ("unlimited".to_owned(), Limit { rule, count_denied })
}

/// Returns a `legacy` limit, converted to a drip by its own rounding.
pub(crate) fn legacy(rng: &mut Rng) -> (String, Limit) {
    let max = rng.pick(&[1, 2, 3, 7, 10, 60, 300, 4096]);
    let duration_ms = rng.pick(&[10, 1_000, 2_000, 5_000, 60_000, 3_600_000]);
    let interval_ms = rng.pick(&[None, None, Some(1), Some(250), Some(1_000)]);
    let first = interval_ms.unwrap_or(round(duration_ms, max)).max(1);
    let drip = round(max * first, duration_ms).max(1);
    let every_ms = round(duration_ms * drip, max).max(1);
    let mut line = format!("legacy max {max} duration {duration_ms}ms");
    if let Some(interval_ms) = interval_ms {
        line.push_str(&format!(" min-interval {interval_ms}ms"));
    }
    let every = every_ms * MILLISECOND;
    let size = max;
    let rule = Rule::Drip { size, drip, every };
    let count_denied = false;
    (line, Limit { rule, count_denied })
}

/// Returns `of / by`, rounded to the nearest whole number, halves up.
fn round(of: u64, by: u64) -> u64 {
    (2 * of + by) / (2 * by)
}

fn flow(rng: &mut Rng, name: &str) -> (String, Rule) {
    let (n, period) = rate(rng);
    let window = period.ticks;
    let greatest = u128::from(LONGEST_DRAIN) * u128::from(n) / u128::from(window);
    let greatest = greatest.min(GREATEST_NUMBER.into()) as u64;
    let mut line = format!("{name} {n}/{}", period.text);
    let mut burst = n;
    if rng.percent(60) {
        burst = number(rng).min(greatest);
        line.push_str(&format!(" burst {burst}"));
    }
    (line, Rule::Flow { n, window, burst })
}

fn whole(rng: &mut Rng) -> (String, Rule) {
    let (n, period) = rate(rng);
    let every = period.ticks;
    let mut line = format!("token-bucket {n}/{}", period.text);
    let mut size = n;
    if rng.percent(60) {
        size = number(rng).min((LONGEST_DRAIN / every).saturating_mul(n));
        line.push_str(&format!(" burst {size}"));
    }
    line.push_str(" whole");
    let drip = n;
    (line, Rule::Drip { size, drip, every })
}

fn leaky(rng: &mut Rng) -> (String, Rule) {
    let size = number(rng);
    let mut line = format!("leaky-bucket size {size}");
    let mut drip = 1;
    if rng.percent(60) {
        drip = number(rng);
        line.push_str(&format!(" drip {drip}"));
    }
    let longest = (LONGEST_DRAIN / size.div_ceil(drip)).min(LONGEST_WINDOW);
    let mut every = SECOND;
    if rng.percent(70) || longest < SECOND {
        let period = period(rng);
        let period = if period.ticks > longest { written(longest) } else { period };
        every = period.ticks;
        line.push_str(&format!(" every {}", period.text));
    }
    (line, Rule::Drip { size, drip, every })
}

fn fixed(rng: &mut Rng) -> (String, Rule) {
    let (n, period) = rate(rng);
    let window = match period.text.as_str() {
        "day" => boundaries(0, DAY),
        // The epoch was a Thursday: the first Monday came four days later.
        "week" => boundaries(4 * DAY, WEEK),
        _ => Window::Plain(period.ticks),
    };
    let line = format!("fixed-window {n}/{}", period.text);
    (line, Rule::FixedWindow { n, window })
}

/// Returns window starts from `first` on, past the end of the comparison.
fn boundaries(first: u64, length: u64) -> Window {
    let starts = (first..END_OF_TIME + 2 * length).step_by(length as usize);
    Window::Boundaries(starts.collect())
}

fn request(rng: &mut Rng) -> (String, Rule) {
    let (n, period) = rate(rng);
    let window = period.ticks;
    let line = format!("request-window {n}/{}", period.text);
    (line, Rule::RequestWindow { n, window })
}

fn log(rng: &mut Rng) -> (String, Rule) {
    let (n, period) = rate(rng);
    let n = n.min(MOST_ENTRIES);
    let rule = Rule::Slots { n, window: period.ticks, resolution: 1, strict: false };
    (format!("sliding-log {n}/{}", period.text), rule)
}

fn counters(rng: &mut Rng) -> (String, Rule) {
    let (n, period) = rate(rng);
    let window = period.ticks;
    let mut line = format!("sliding-counters {n}/{}", period.text);
    let mut resolution = window / 60;
    if resolution == 0 || rng.percent(80) {
        let finest = if n > MOST_ENTRIES { window.div_ceil(MOST_ENTRIES - 2) } else { 1 };
        resolution = resolution_within(rng, window).max(finest);
        line.push_str(&format!(" resolution {}", written(resolution).text));
    }
    let (edge, strict) = rng.pick(&[("", true), (" edge strict", true), (" edge lenient", false)]);
    line.push_str(edge);
    let rule = Rule::Slots { n, window, resolution, strict };
    (line, rule)
}

/// Returns a resolution that often divides the window, and often does not.
fn resolution_within(rng: &mut Rng, window: u64) -> u64 {
    let parts = rng.pick(&[1, 2, 3, 4, 5, 6, 7, 10, 12, 13, 60]);
    let near = (window / parts).max(1);
    match rng.between(0, 3) {
        0 => (near + 1).min(window),
        1 => rng.between(1, window),
        _ => near,
    }
}

fn estimate(rng: &mut Rng) -> (String, Rule) {
    let (n, period) = rate(rng);
    let window = period.ticks;
    let line = format!("sliding-window {n}/{}", period.text);
    (line, Rule::Estimate { n, window })
}

fn ar1(rng: &mut Rng) -> (String, Rule) {
    let (max_text, max) = rng.pick(&[
        ("1", 1.0),
        ("1.2", 1.2),
        ("2.5", 2.5),
        ("5", 5.0),
        ("7.75", 7.75),
        ("10", 10.0),
        ("100.5", 100.5),
        ("1000000", 1_000_000.0),
    ]);
    let (decay_text, decay) = rng.pick(&[
        ("1.001", 1.001),
        ("1.1", 1.1),
        ("1.5", 1.5),
        ("2", 2.0),
        ("2", 2.0),
        ("3.7", 3.7),
        ("10", 10.0),
    ]);
    let ticks = rng.pick(&[1, 7, MILLISECOND, SECOND, SECOND, 10 * SECOND, MINUTE, HOUR, DAY]);
    let period = written(ticks);
    let line = format!("ar1 max {max_text} decay {decay_text} resolution {}", period.text);
    let resolution = period.ticks;
    let rule = Rule::Fade { max, decay, resolution };
    (line, rule)
}

fn concurrency(rng: &mut Rng) -> (String, Rule) {
    let leases = number(rng).min(MOST_ENTRIES);
    let period = period(rng);
    let ttl = period.ticks;
    let line = format!("concurrency {leases} ttl {}", period.text);
    (line, Rule::Held { leases, ttl })
}

fn number(rng: &mut Rng) -> u64 {
    match rng.weighted(&[70, 20, 10]) {
        0 => rng.between(1, 10),
        1 => rng.pick(&[15, 16, 20, 30, 50, 100, 200, 1_000, 5_000]),
        _ => rng.of_any_size(GREATEST_NUMBER),
    }
}

fn rate(rng: &mut Rng) -> (u64, Period) {
    if rng.percent(15) {
        let (n, ticks) = rng.pick(&[
            (7, 13),
            (3, SECOND),
            (10_000_000, SECOND),
            (1, WEEK),
            (3, 10 * MICROSECOND),
            (GREATEST_NUMBER, LONGEST_WINDOW),
            (1, LONGEST_WINDOW),
        ]);
        return (n, written(ticks));
    }
    (number(rng), period(rng))
}
