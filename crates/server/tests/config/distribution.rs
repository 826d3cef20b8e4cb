//! `distribution` of a policy, and its settings.

use std::time::Duration;

use tollgate::Percentage;
use tollgate::layers::{Distribution, FirstRead, Prefetch, WriteBehind};
use tollgate_server::Config;

use crate::{errors, lines};

/// Config files and the errors they give.
pub(crate) const CASES: [(&str, &str); 22] = [
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = \"prefech\"",
        "3:16: policy.a.distribution is \"prefech\"; expected strict, write-behind or prefetch \
         (did you mean \"prefetch\"?)",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = []",
        "3:16: policy.a.distribution is a list; expected strict, write-behind or prefetch",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\nflush = \"10ms\"",
        "3:9: policy.a.flush is given without distribution; expected distribution = \"write-behind\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\nmax_slice = \"5%\"",
        "3:13: policy.a.max_slice is given without distribution; expected distribution = \"prefetch\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = \"prefetch\"\nflush = \"10ms\"\n\
         cap = \"5%\"\nread = \"none\"",
        "4:9: policy.a.flush is given with distribution = \"prefetch\"; expected distribution = \
         \"write-behind\"\n5:7: policy.a.cap is given with distribution = \"prefetch\"; expected \
         distribution = \"write-behind\"\n6:8: policy.a.read is given with distribution = \
         \"prefetch\"; expected distribution = \"write-behind\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = \"write-behind\"\nmax_slice = \"0%\"",
        "4:13: policy.a.max_slice is given with distribution = \"write-behind\"; expected \
         distribution = \"prefetch\"\n4:13: policy.a.max_slice is \"0%\"; expected a percentage from \
         0.01% to 100%, such as \"5%\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = \"write-behind\"\nflush = \"0ms\"",
        "4:9: policy.a.flush is \"0ms\"; expected a duration in ms, s, min or h, such as \"5s\", from \
         1ms to 1s",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = \"write-behind\"\nflush = \"1001ms\"",
        "4:9: policy.a.flush is \"1001ms\"; expected a duration in ms, s, min or h, such as \"5s\", \
         from 1ms to 1s",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = \"write-behind\"\nflush = 10",
        "4:9: policy.a.flush is a whole number; expected a duration in ms, s, min or h, such as \"5s\", \
         from 1ms to 1s",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = \"write-behind\"\ncap = \"0.00%\"",
        "4:7: policy.a.cap is \"0.00%\"; expected a percentage from 0.01% to 100%, such as \"5%\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = \"write-behind\"\ncap = \"101%\"",
        "4:7: policy.a.cap is \"101%\"; expected a percentage from 0.01% to 100%, such as \"5%\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = \"write-behind\"\ncap = 5",
        "4:7: policy.a.cap is a whole number; expected a percentage from 0.01% to 100%, such as \"5%\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = \"prefetch\"\nmax_slice = \"5\"",
        "4:13: policy.a.max_slice is \"5\"; expected a percentage from 0.01% to 100%, such as \"5%\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = \"write-behind\"\nread = \"synk\"",
        "4:8: policy.a.read is \"synk\"; expected sync or none (did you mean \"sync\"?)",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ndistribution = \"strict\"\nread = false",
        "4:8: policy.a.read is a boolean; expected sync or none",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\", \"concurrency 2 ttl 30s\"]\ndistribution = \"write-behind\"",
        "3:16: policy.a.distribution is \"write-behind\"; expected strict for \"concurrency 2 ttl 30s\"",
    ),
    (
        "[policy.a]\nlimits = [\"concurrency 2 ttl 30s\"]\ndistribution = \"prefetch\"",
        "3:16: policy.a.distribution is \"prefetch\"; expected strict for \"concurrency 2 ttl 30s\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\", \"gcra 2/s count-denied\"]\ndistribution = \"prefetch\"",
        "3:16: policy.a.distribution is \"prefetch\"; expected strict or write-behind for \"gcra 2/s \
         count-denied\"",
    ),
    (
        "[policy.a]\nlimits = [\"ar1 max 10 decay 2 resolution 1s\"]\ndistribution = \"prefetch\"",
        "3:16: policy.a.distribution is \"prefetch\"; expected strict or write-behind for \"ar1 max \
         10 decay 2 resolution 1s\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s per ip\", \"gcra 1/s per user\"]\ndistribution = \
         \"write-behind\"",
        "3:16: policy.a.distribution is \"write-behind\"; expected strict for limits of different \
         subjects",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\", \"gcra 9/s per all\"]\ndistribution = \"prefetch\"",
        "3:16: policy.a.distribution is \"prefetch\"; expected strict for limits of different subjects",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 0/s\"]\ndistribution = \"prefetch\"",
        "2:17: limit \"gcra 0/s\", column 6: count \"0\" is not accepted; expected a whole number from 1 \
         to 4294967295",
    ),
];

/// The distribution of a policy with these lines.
fn distribution(settings: &str) -> Distribution {
    let text = format!(
        "[policy.a]\nlimits = [\"gcra 1/s per ip\", \"sliding-log 9/min per ip\"]\n{settings}"
    );
    let config = Config::parse(&text).map_err(|errors| lines(&errors)).unwrap();
    assert!(config.unsupported.is_empty(), "{settings}");
    config.policies[0].distribution
}

#[test]
fn distributions_are_parsed() {
    assert_eq!(distribution(""), Distribution::Strict);
    assert_eq!(distribution("distribution = \"strict\""), Distribution::Strict);
    let defaults = Distribution::WriteBehind(WriteBehind::default());
    assert_eq!(distribution("distribution = \"write-behind\""), defaults);
    let defaults = Distribution::Prefetch(Prefetch::default());
    assert_eq!(distribution("distribution = \"prefetch\""), defaults);
}

#[test]
fn settings_are_parsed() {
    let percentage = |text: &str| text.parse::<Percentage>().unwrap();
    for (flush, millis) in [("1ms", 1), ("1s", 1_000), ("1000ms", 1_000)] {
        let parsed = distribution(&format!(
            "distribution = \"write-behind\"\nflush = \"{flush}\"\ncap = \"0.01%\"\nread = \"none\""
        ));
        let expected = WriteBehind::default()
            .with_flush(Duration::from_millis(millis))
            .with_cap(percentage("0.01%"))
            .with_read(FirstRead::None);
        assert_eq!(parsed, Distribution::WriteBehind(expected), "{flush}");
    }
    let parsed = distribution("max_slice = \"100%\"\ndistribution = \"prefetch\"");
    let expected = Prefetch::default().with_max_slice(percentage("100%"));
    assert_eq!(parsed, Distribution::Prefetch(expected));
}

/// A policy can be set to strict for a while, and keep its settings.
#[test]
fn settings_have_no_effect_in_strict() {
    let settings = "distribution = \"strict\"\nflush = \"1s\"\ncap = \"1%\"\nread = \"sync\"\nmax_slice = \"1%\"";
    assert_eq!(distribution(settings), Distribution::Strict);
}

/// What cannot be decided so is left to the store: a candidate never changes a decision.
#[test]
fn a_candidate_may_have_any_limits() {
    let candidate = "distribution = \"prefetch\"\ncandidate = [\"gcra 1/s per ip count-denied\"]";
    assert_eq!(distribution(candidate).name(), "prefetch");
}

#[test]
fn a_policy_of_one_subject_may_have_many_limits() {
    let policy = "[policy.a]\nlimits = [\"gcra 1/s per all\", \"fixed-window 9/day per all\", \
                  \"gcra 9/s of tokens per all\"]\n";
    for name in Distribution::NAMES {
        assert_eq!(errors(&format!("{policy}distribution = \"{name}\"")), "");
    }
}
