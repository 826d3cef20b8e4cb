//! A limit line, and after it a line with a factor.

use tollgate_core::{Decimal, Limit};
use tollgate_sim::Explanation;

/// The ends of what is accepted, and what divides badly.
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

/// What is printed reads as the same limit.
fn check_print(limit: &Limit) {
    let printed = limit.to_string();
    let read = printed.parse::<Limit>().expect(&printed);
    assert_eq!(read, *limit, "{printed}");
    assert_eq!(read.to_string(), printed);
}
