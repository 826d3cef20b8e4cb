//! For any limits and any history, the fields can be parsed, are valid, and are true.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use proptest::prelude::*;
use proptest::sample::select;
use sfv::{BareItem, Dictionary, Item, List, ListEntry, Parser};
use support::{KEY, Scene, fields};
use tollgate_core::contract::{ALGORITHMS, Step, limit_line, steps};
use tollgate_core::{Act, Decision, Key, Limit, Span, Time};
use tollgate_http::Dialect;

/// A policy, the instant at which the case begins, and its steps.
#[derive(Debug, Clone)]
struct Case {
    lines: Vec<String>,
    start: Time,
    steps: Vec<Step>,
}

fn line() -> impl Strategy<Value = String> {
    let factor = select(&["", "", "", " factor 0.3", " factor 2", " factor 7"][..]);
    let random = (select(&ALGORITHMS[..]).prop_flat_map(limit_line), factor)
        .prop_map(|(line, factor)| format!("{line}{factor}"));
    let others = select(
        &[
            "unlimited",
            "legacy max 30 duration 1min",
            "legacy min-interval 250ms",
            "gcra 4294967295/us",
            "gcra 1/week count-denied",
        ][..],
    );
    let line = prop_oneof![8 => random, 1 => others.prop_map(str::to_owned)];
    line.prop_filter("out of bounds", |line| line.parse::<Limit>().is_ok())
}

fn case() -> impl Strategy<Value = Case> {
    let start = prop_oneof![0_u64..10_000_000, 1_700_000_000_000_000_u64..1_800_000_000_000_000];
    let start = start.prop_map(|micros| Time::from_micros(micros).unwrap());
    (proptest::collection::vec(line(), 1..4), start).prop_flat_map(|(lines, start)| {
        let capacity = |line: &String| line.parse::<Limit>().unwrap().capacity();
        let capacity = lines.iter().filter_map(capacity).min().unwrap_or(10);
        let case = (Just(lines), Just(start), steps(capacity, 1));
        case.prop_map(|(lines, start, steps)| Case { lines, start, steps })
    })
}

impl Case {
    /// Calls `each` with every decision, the scene at its instant, and the step.
    fn play(
        &self,
        mut each: impl FnMut(&Scene, &Decision, &Step) -> Result<(), TestCaseError>,
    ) -> Result<(), TestCaseError> {
        let mut scene = Scene::new(&self.lines, self.start);
        let resets = scene.policy.limits().iter().filter_map(Limit::full_reset_after);
        let reset = resets.max().map_or(0, Span::as_micros);
        for step in &self.steps {
            scene.now = moved(scene.now, reset, step);
            let decision = scene.apply(step.act, step.cost, step.id, scene.now);
            if let Some(decision) = decision {
                each(&scene, &decision, step)?;
            }
        }
        Ok(())
    }
}

fn moved(now: Time, reset: u64, step: &Step) -> Time {
    let (permille, ticks) = step.moves;
    let by = i128::from(reset) * i128::from(permille) / 1000 + i128::from(ticks);
    let at = u64::try_from((i128::from(now.as_micros()) + by).max(0)).unwrap();
    Time::from_micros(at).unwrap_or(now)
}

/// Parses a list of items with parameters.
fn parse_list(value: &str) -> Vec<Item> {
    let list: List = Parser::new(value).parse().unwrap_or_else(|e| panic!("{value}: {e}"));
    let item = |entry| match entry {
        ListEntry::Item(item) => item,
        ListEntry::InnerList(_) => panic!("{value} has a list in it"),
    };
    list.into_iter().map(item).collect()
}

fn number(item: &Item, key: &str) -> Option<i64> {
    let value = item.params.get(key)?;
    Some(value.as_integer().unwrap_or_else(|| panic!("{key} is {value:?}")).into())
}

fn name(item: &Item) -> String {
    let name = item.bare_item.as_string();
    name.unwrap_or_else(|| panic!("{:?} is not a name", item.bare_item)).as_str().to_owned()
}

fn value_of<'f>(fields: &'f [(&'static str, String)], name: &str) -> Option<&'f str> {
    fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

fn check_policy(item: &Item) -> Result<(), TestCaseError> {
    prop_assert!(number(item, "q").unwrap() >= 1);
    prop_assert!(number(item, "w").is_none_or(|w| w >= 1));
    prop_assert!(number(item, "tollgate-burst").is_none_or(|burst| burst >= 1));
    let unit = item.params.get("qu").map(|unit| unit.as_string().unwrap().as_str());
    prop_assert!(unit.is_none_or(|unit| unit == "concurrent-requests"));
    if let Some(partition) = item.params.get("pk") {
        prop_assert_eq!(partition.as_byte_sequence().unwrap().len(), 12);
    }
    let known = ["q", "qu", "w", "tollgate-burst", "pk"];
    prop_assert!(item.params.keys().all(|key| known.contains(&key.as_str())));
    Ok(())
}

fn check_binding(item: &Item, policies: &[Item], retry: Option<i64>) -> Result<(), TestCaseError> {
    let policy = policies.iter().find(|policy| name(policy) == name(item)).unwrap();
    let max = number(policy, "tollgate-burst").or(number(policy, "q")).unwrap();
    let remaining = number(item, "r").unwrap();
    prop_assert!((0..=max).contains(&remaining), "{remaining} of {max}");
    let seconds = number(item, "t");
    prop_assert!(seconds.is_none_or(|t| t >= 1));
    prop_assert!(retry.is_none_or(|retry| seconds.is_none_or(|t| retry >= t)));
    prop_assert!(policy.params.get("qu").is_none_or(|_| seconds.is_none()));
    prop_assert!(item.params.keys().all(|key| ["r", "t"].contains(&key.as_str())));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn named_limits_are_legal_structured_fields(case in case()) {
        case.play(|scene, decision, _| {
            let headers = scene.headers(decision).key(Key::new(KEY).unwrap());
            for dialect in [Dialect::Ietf, Dialect::Draft8] {
                let fields = fields(&headers, dialect);
                let policies = value_of(&fields, "ratelimit-policy").map(parse_list).unwrap_or_default();
                let limited = scene.policy.limits().iter().filter(|l| l.capacity().is_some());
                prop_assert_eq!(policies.len(), limited.count());
                policies.iter().try_for_each(check_policy)?;
                let retry = value_of(&fields, "retry-after").map(|retry| retry.parse().unwrap());
                prop_assert_eq!(value_of(&fields, "ratelimit").is_some(), decision.limit.is_some());
                for item in value_of(&fields, "ratelimit").map(parse_list).unwrap_or_default() {
                    prop_assert_eq!(Some(name(&item)), headers.limit_name().map(String::from));
                    check_binding(&item, &policies, retry)?;
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn draft_7_is_a_dictionary_and_a_list_of_numbers(case in case()) {
        case.play(|scene, decision, _| {
            let fields = fields(&scene.headers(decision), Dialect::Draft7);
            for item in value_of(&fields, "ratelimit-policy").map(parse_list).unwrap_or_default() {
                prop_assert!(item.bare_item.as_integer().is_some());
                prop_assert!(number(&item, "w").unwrap() >= 1);
            }
            if let Some(value) = value_of(&fields, "ratelimit") {
                let members: Dictionary = Parser::new(value).parse().unwrap();
                let is_number = |entry: &ListEntry| {
                    matches!(entry, ListEntry::Item(Item { bare_item: BareItem::Integer(_), .. }))
                };
                prop_assert!(members.len() == 3 && members.values().all(is_number), "{value}");
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_client_that_waits_for_retry_after_is_admitted(case in case()) {
        case.play(|scene, decision, step| {
            for dialect in Dialect::ALL {
                let fields = fields(&scene.headers(decision), dialect);
                let retry = value_of(&fields, "retry-after").map(|s| s.parse::<u64>().unwrap());
                let is_denied = !decision.allowed && !decision.not_found;
                let can_pass = is_denied && decision.retry_after.is_some();
                prop_assert_eq!(retry.is_some(), can_pass);
                let Some(seconds) = retry else { continue };
                prop_assert!(seconds >= 1);
                let wait = Span::from_micros(seconds * 1_000_000);
                let Some(then) = scene.now.checked_add(wait) else { continue };
                let again = scene.apply(Act::Peek, step.cost, None, then).unwrap();
                prop_assert!(again.allowed, "{:?} after {seconds} s", again);
            }
            Ok(())
        })?;
    }

    #[test]
    fn fields_come_once_and_are_safe_in_any_header(case in case()) {
        case.play(|scene, decision, _| {
            for dialect in Dialect::ALL {
                let fields = fields(&scene.headers(decision), dialect);
                let mut names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
                names.sort_unstable();
                names.dedup();
                prop_assert_eq!(names.len(), fields.len());
                for (name, value) in &fields {
                    prop_assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'));
                    prop_assert!(value.bytes().all(|b| (0x20..0x7f).contains(&b)), "{value:?}");
                    prop_assert!(!value.is_empty() && value.trim() == value, "{value:?}");
                }
            }
            Ok(())
        })?;
    }
}
