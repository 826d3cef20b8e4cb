//! A limit line, optionally followed by a line with a factor.

use tollgate_core::{Decimal, Limit};
use tollgate_sim::Explanation;

/// The bounds of accepted factors, and factors that do not divide evenly.
const FACTORS: [&str; 6] = ["0", "0.000000001", "0.3", "7", "999999.999999999", "1000000"];

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let (line, factor) = text.split_once('\n').unwrap_or((text, "1"));
    let limit = match line.parse::<Limit>() {
        Ok(limit) => limit,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let explained = Explanation::new(limit.clone()).to_string();
    assert!(explained.starts_with(&limit.to_string()), "{explained}");
    check_print(&limit);
    let factors = FACTORS.into_iter().chain([factor]).filter_map(|text| text.parse().ok());
    for factor in factors.collect::<Vec<Decimal>>() {
        if let Ok(scaled) = limit.scaled(factor) {
            check_print(&scaled);
        }
    }
}

/// Asserts that the printed limit parses to the same limit.
fn check_print(limit: &Limit) {
    let printed = limit.to_string();
    let parsed = printed.parse::<Limit>().expect(&printed);
    assert_eq!(parsed, *limit, "{printed}");
    assert_eq!(parsed.to_string(), printed);
}
