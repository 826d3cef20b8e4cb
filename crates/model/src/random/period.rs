//! Random lengths of time, as a limit line writes them.

use super::Rng;

pub(crate) const MICROSECOND: u64 = 1;
pub(crate) const MILLISECOND: u64 = 1_000;
pub(crate) const SECOND: u64 = 1_000_000;
pub(crate) const MINUTE: u64 = 60 * SECOND;
pub(crate) const HOUR: u64 = 60 * MINUTE;
pub(crate) const DAY: u64 = 24 * HOUR;
pub(crate) const WEEK: u64 = 7 * DAY;

const UNITS: [(&str, u64); 7] = [
    ("week", WEEK),
    ("day", DAY),
    ("h", HOUR),
    ("min", MINUTE),
    ("s", SECOND),
    ("ms", MILLISECOND),
    ("us", MICROSECOND),
];

pub(crate) const LONGEST_WINDOW: u64 = 1 << 50;

/// A length of time and its text.
pub(crate) struct Period {
    pub text: String,
    pub ticks: u64,
}

pub(crate) fn period(rng: &mut Rng) -> Period {
    match rng.weighted(&[60, 15, 15, 10]) {
        0 => written(rng.pick(&[
            10 * MICROSECOND,
            100 * MICROSECOND,
            10 * MILLISECOND,
            SECOND,
            SECOND,
            10 * SECOND,
            MINUTE,
            90 * SECOND,
            HOUR,
        ])),
        1 => bare(rng),
        2 => {
            let (unit, ticks) = rng.pick(&UNITS);
            counted(rng.between(1, 30), unit, ticks)
        }
        _ => written(rng.of_any_size(LONGEST_WINDOW)),
    }
}

/// Returns a unit without a number; for a fixed window, `day` and `week` are then calendar windows.
fn bare(rng: &mut Rng) -> Period {
    let (unit, ticks) = rng.pick(&UNITS);
    let text = unit.to_owned();
    Period { text, ticks }
}

/// Returns a length in the greatest unit that divides it.
pub(crate) fn written(ticks: u64) -> Period {
    let measures = |(_, length): &&(&str, u64)| ticks.is_multiple_of(*length);
    let (unit, length) = UNITS.iter().find(measures).unwrap_or(&UNITS[6]);
    counted(ticks / length, unit, *length)
}

fn counted(count: u64, unit: &str, length: u64) -> Period {
    Period { text: format!("{count}{unit}"), ticks: count * length }
}
