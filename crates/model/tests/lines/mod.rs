//! Parses limit lines for the tests: as much of the syntax as they use, and independent of the
//! generator of random lines, so that each checks the other.

use tollgate_model::{Limit, Rule, Window};

const DAY: u64 = 86_400_000_000;
const LATEST: u64 = 1 << 53;

/// Parses a limit line.
pub fn limit(line: &str) -> Limit {
    let words: Vec<&str> = line.split_whitespace().collect();
    Limit { rule: rule(&words), count_denied: words.contains(&"count-denied") }
}

fn rule(words: &[&str]) -> Rule {
    match words[0] {
        "gcra" | "token-bucket" => bucket(words),
        "leaky-bucket" => Rule::Drip {
            size: number(words, "size").unwrap(),
            drip: number(words, "drip").unwrap_or(1),
            every: time(words, "every").unwrap_or(1_000_000),
        },
        "legacy" => legacy(words),
        "ar1" => Rule::Fade {
            max: after(words, "max").unwrap().parse().unwrap(),
            decay: after(words, "decay").unwrap().parse().unwrap(),
            resolution: time(words, "resolution").unwrap(),
        },
        "concurrency" => {
            Rule::Held { leases: words[1].parse().unwrap(), ttl: time(words, "ttl").unwrap() }
        }
        "unlimited" => Rule::Unlimited,
        _ => windowed(words),
    }
}

fn bucket(words: &[&str]) -> Rule {
    let (n, window) = rate(words);
    let burst = number(words, "burst").unwrap_or(n);
    if words.contains(&"whole") {
        return Rule::Drip { size: burst, drip: n, every: window };
    }
    Rule::Flow { n, window, burst }
}

fn windowed(words: &[&str]) -> Rule {
    let (n, window) = rate(words);
    match words[0] {
        "fixed-window" => Rule::FixedWindow { n, window: fixed(words) },
        "request-window" => Rule::RequestWindow { n, window },
        "sliding-window" => Rule::Estimate { n, window },
        "sliding-log" => slots(n, window, 1, false),
        "sliding-counters" => {
            let resolution = time(words, "resolution").unwrap_or(window / 60);
            slots(n, window, resolution, !words.contains(&"lenient"))
        }
        name => panic!("no such algorithm: {name}"),
    }
}

fn slots(n: u64, window: u64, resolution: u64, strict: bool) -> Rule {
    Rule::Slots { n, window, resolution, strict }
}

/// Returns the boundaries of UTC days or weeks: the first day is a Thursday.
fn fixed(words: &[&str]) -> Window {
    let all = 0..LATEST / DAY;
    let days: Vec<u64> = match words[1].split('/').nth(1) {
        Some("day") => all.collect(),
        Some("week") => all.filter(|day| *day == 0 || day % 7 == 4).collect(),
        _ => return Window::Plain(rate(words).1),
    };
    Window::Boundaries(days.into_iter().map(|day| day * DAY).collect())
}

/// In milliseconds; doubles are exact enough for the halves of such small numbers.
fn legacy(words: &[&str]) -> Rule {
    let max = number(words, "max").unwrap() as f64;
    let duration = time(words, "duration").unwrap() as f64 / 1e3;
    let interval = time(words, "min-interval").map(|interval| interval as f64 / 1e3);
    let half_up = |x: f64| (x + 0.5).floor().max(1.0);
    let first = interval.unwrap_or(half_up(duration / max)).max(1.0);
    let drip = half_up(max * first / duration);
    Rule::Drip {
        size: max as u64,
        drip: drip as u64,
        every: half_up(duration * drip / max) as u64 * 1_000,
    }
}

fn after<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let place = words.iter().position(|word| *word == name)?;
    Some(words[place + 1])
}

fn number(words: &[&str], name: &str) -> Option<u64> {
    after(words, name).map(|word| word.parse().unwrap())
}

fn time(words: &[&str], name: &str) -> Option<u64> {
    after(words, name).map(ticks)
}

fn rate(words: &[&str]) -> (u64, u64) {
    let (n, period) = words[1].split_once('/').unwrap();
    (n.parse().unwrap(), ticks(period))
}

/// Returns the length of a period in ticks.
pub fn ticks(period: &str) -> u64 {
    let unit = period.trim_start_matches(|c: char| c.is_ascii_digit());
    let count = period.trim_end_matches(|c: char| !c.is_ascii_digit());
    let length = match unit {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "min" => 60_000_000,
        "h" => 3_600_000_000,
        "day" => DAY,
        "week" => 7 * DAY,
        _ => panic!("no such unit: {unit}"),
    };
    count.parse().unwrap_or(1) * length
}
