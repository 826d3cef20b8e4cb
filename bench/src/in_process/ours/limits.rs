//! The limits of our systems, by name and pace.

use crate::in_process::limit::Pace;

/// Returns the lines of a system; `None` if there is no such system.
pub(super) fn lines(name: &str, pace: Pace) -> Option<&'static [&'static str]> {
    match pace {
        Pace::Fast => fast(name),
        Pace::Slow => slow(name),
        Pace::Allowed => allowed(name),
        Pace::Denied => denied(name),
    }
}

/// A million per second, or as near as the algorithm gets with a small state.
fn fast(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "tollgate" | "tollgate cached clock" => &["gcra 1000000/s burst 100"],
        "tollgate token-bucket" => &["token-bucket 1000000/s burst 100"],
        "tollgate leaky-bucket" => &["leaky-bucket size 100 drip 1 every 1us"],
        "tollgate fixed-window" => &["fixed-window 1000000/s"],
        "tollgate request-window" => &["request-window 1000000/s"],
        "tollgate sliding-window" => &["sliding-window 1000000/s"],
        "tollgate ar1" => &["ar1 max 1000 decay 2 resolution 1ms"],
        "tollgate sliding-counters" => &["sliding-counters 1000/ms resolution 100us"],
        "tollgate sliding-log" => &["sliding-log 100/ms"],
        "tollgate concurrency" => &["concurrency 100 ttl 1ms"],
        "tollgate two gcra" => &["gcra 1000000/s burst 100", "gcra 1000000000/h burst 1000000000"],
        _ => return None,
    })
}

/// So slow that no key expires before the end of the bench.
fn slow(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "tollgate" | "tollgate cached clock" => &["gcra 1/min burst 100"],
        "tollgate ids" => &["gcra 1000/min burst 1000000000"],
        "tollgate token-bucket" => &["token-bucket 1/min burst 100"],
        "tollgate leaky-bucket" => &["leaky-bucket size 100 drip 1 every 1min"],
        "tollgate fixed-window" => &["fixed-window 100/week"],
        "tollgate request-window" => &["request-window 100/day"],
        "tollgate sliding-window" => &["sliding-window 100/day"],
        "tollgate ar1" => &["ar1 max 1000 decay 2 resolution 1h"],
        "tollgate sliding-counters" => &["sliding-counters 100/h resolution 6min"],
        "tollgate sliding-log" => &["sliding-log 100/day"],
        "tollgate concurrency" => &["concurrency 100 ttl 1h"],
        "tollgate two gcra" => &["gcra 1/min burst 100", "gcra 1000/h burst 1000000"],
        _ => return None,
    })
}

/// So generous that nothing is denied.
fn allowed(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "tollgate" | "tollgate ids" => &["gcra 1000000/s burst 1000000000"],
        "tollgate two gcra" => {
            &["gcra 1000000/s burst 1000000000", "gcra 1000000000/h burst 1000000000"]
        }
        "tollgate three subjects" => &[
            "gcra 1000000/s burst 1000000000 per ip",
            "gcra 1000000/s burst 1000000000 per user",
            "gcra 1000000/s burst 1000000000 per all",
        ],
        "tollgate sliding-counters" => &["sliding-counters 1000000000/h resolution 6min"],
        "tollgate sliding-log stepped" => &["sliding-log 100/ms"],
        "tollgate check and release" => &["concurrency 100 ttl 1min"],
        _ => return None,
    })
}

/// Only the first check of a key is allowed. Of several limits only the last denies, as a limit per day beside
/// one per second mostly does.
fn denied(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "tollgate" => &["gcra 1/day burst 1"],
        "tollgate two gcra" => &["gcra 1000000/s burst 1000000000", "gcra 1/day burst 1"],
        "tollgate three subjects" => &[
            "gcra 1000000/s burst 1000000000 per ip",
            "gcra 1000000/s burst 1000000000 per user",
            "gcra 1/day burst 1 per all",
        ],
        "tollgate sliding-counters" => &["sliding-counters 1/day resolution 1h"],
        "tollgate sliding-log stopped" => &["sliding-log 100/ms"],
        _ => return None,
    })
}
