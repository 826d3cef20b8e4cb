//! How a request becomes an operation, and the errors of one that does not fit its policy.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tollgate_core::{
    Act, Decimal, Decision, IntoKey, Item, Key, Limit, LimitStatus, LimitStatuses, MAX_ID_BYTES,
    MAX_KEY_BYTES, Name, Op, PlainStore, Policy, Request, RequestError, Span, StoreError, Time,
};

fn policy(lines: &[&str]) -> Policy {
    Policy::parse(Name::new("test").unwrap(), lines).unwrap()
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

/// Returns all that an operation says, as text.
fn to_text(op: &Op<'_>) -> String {
    let item = |item: &Item<'_>| {
        let name = item.subject.name.map_or("-", Name::as_str);
        let key = String::from_utf8_lossy(item.subject.key.as_bytes());
        format!("{} | {name}={key} | {}", item.limit, item.cost)
    };
    let items: Vec<String> = op.items.iter().map(item).collect();
    let id = op.id.map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
    format!("{} {} {items:?} {id:?}", op.policy, op.act)
}

fn op(request: &Request<'_>, policy: &Policy) -> Result<String, RequestError> {
    request.with_op(policy, Act::Check, to_text)
}

/// Returns the key and cost of each item.
fn items(request: &Request<'_>, lines: &[&str]) -> Vec<(String, u64)> {
    let item = |item: &Item<'_>| {
        (String::from_utf8(item.subject.key.as_bytes().to_vec()).unwrap(), item.cost)
    };
    let items = |op: &Op<'_>| op.items.iter().map(item).collect();
    request.with_op(&policy(lines), Act::Check, items).unwrap()
}

fn item(key: &str, cost: u64) -> (String, u64) {
    (key.to_owned(), cost)
}

/// Returns which of `is_bad_key`, `is_bad_cost` and `is_bad_factor` is true.
fn kind(error: &RequestError) -> &'static str {
    match (error.is_bad_key(), error.is_bad_cost(), error.is_bad_factor()) {
        (true, false, false) => "key",
        (false, true, false) => "cost",
        (false, false, true) => "factor",
        other => panic!("{error}: {other:?}"),
    }
}

/// Asserts that a request does not fit a policy, and why.
fn assert_fails(lines: &[&str], request: &Request<'_>, expected: (&str, &str)) {
    let error = op(request, &policy(lines)).unwrap_err();
    assert_eq!((kind(&error), error.to_string().as_str()), expected, "{request:?}");
}

#[test]
fn an_invalid_key_says_which_and_why() {
    let (long_key, long_id) = ([b'k'; MAX_KEY_BYTES + 1], [b'i'; MAX_ID_BYTES + 1]);
    let named = |name, key| Request::new().subject(name, key);
    let missing = "missing key: a limit counts the nameless key";
    for (request, message) in [
        (Request::new(), missing),
        (named("user", "a"), missing),
        (Request::of(""), "key is empty; expected 1 to 1024 bytes"),
        (Request::of(&long_key), "key has 1025 bytes; expected 1 to 1024"),
        (Request::of("a").key("b"), "the nameless key is given twice"),
        (Request::of("a").key("a"), "the nameless key is given twice"),
        (named("other", "a").subject("other", 2).key(1), "key \"other\" is given twice"),
        (Request::of("a").id(""), "id is empty; expected 1 to 64 bytes"),
        (Request::of("a").id(&long_id), "id has 65 bytes; expected 1 to 64"),
    ] {
        assert_fails(&["gcra 10/s"], &request, ("key", message));
    }
    for (request, message) in [
        (Request::of("a"), "missing key \"user\": a limit counts per user"),
        (named("user", ""), "subject \"user\": key is empty; expected 1 to 1024 bytes"),
        (named("user", "a").subject("ip", 2).subject("user", 3), "key \"user\" is given twice"),
    ] {
        assert_fails(&["unlimited per all", "gcra 10/s per user"], &request, ("key", message));
    }
}

#[test]
fn an_invalid_cost_says_which_and_why() {
    let (plain, tokens) = (&["gcra 10/s"][..], &["gcra 10/s", "gcra 90000/min of tokens"][..]);
    let cost_of = |unit, cost| Request::of("a").cost_of(unit, cost);
    let unknown =
        |unit| format!("cost of {unit:?}: no limit of the policy has this unit (of UNIT)");
    let twice = "the cost of \"tokens\" is given twice".to_owned();
    for (lines, request, message) in [
        (tokens, cost_of("tokens", 1).cost_of("tokens", 1), twice),
        (tokens, cost_of("token", 1), unknown("token")),
        (tokens, cost_of("tokens", 1).cost_of("Tokens", 1), unknown("Tokens")),
        (tokens, cost_of("", 1), unknown("")),
        (plain, cost_of("tokens", 0), unknown("tokens")),
        (&[], cost_of("tokens", 1), unknown("tokens")),
    ] {
        assert_fails(lines, &request, ("cost", &message));
    }
}

#[test]
fn a_factor_out_of_bounds_names_the_limit() {
    let request = Request::of("a").factor(decimal("0.000000001"));
    let error = op(&request, &policy(&["gcra 1/s", "gcra 10/s"])).unwrap_err();
    assert_eq!(kind(&error), "factor");
    let limit: Limit = "gcra 10/s".parse().unwrap();
    let same = limit.scaled(decimal("0.000000001")).unwrap_err().to_string();
    assert_eq!(error.to_string(), same);
    assert!(same.contains("gcra 10/s"), "{same}");
}

#[test]
fn a_factor_scales_every_limit() {
    let policy = policy(&["gcra 10/s", "fixed-window 100/day per all", "unlimited"]);
    let request = Request::of("a").factor(decimal("2"));
    let limits = request.limits(policy.limits()).unwrap();
    let capacities: Vec<_> = limits.iter().map(Limit::capacity).collect();
    assert_eq!(capacities, [Some(5), Some(50), None]);
    let text = op(&request, &policy).unwrap();
    assert!(text.contains("gcra 10/s factor 2 | -=a | 1"), "{text}");
}

#[test]
fn a_cost_beyond_the_maximum_is_refused_by_every_store() {
    let (policy, store) = (policy(&["unlimited", "gcra 1/s of tokens"]), PlainStore::default());
    for request in [Request::of("a").cost(1 << 32), Request::of("a").cost_of("tokens", 1 << 32)] {
        let apply = |op: &Op<'_>| store.apply_one(op, Time::EPOCH);
        let error: StoreError = request.with_op(&policy, Act::Charge, apply).unwrap().unwrap_err();
        assert!(error.is_malformed() && error.to_string().contains("4294967295"), "{error}");
    }
}

#[test]
fn keys_of_every_type_equal_their_text() {
    let mapped: Ipv6Addr = Ipv4Addr::new(203, 0, 113, 9).to_ipv6_mapped();
    let (text, bytes, boxed) =
        (String::from("alice"), vec![0xff, 0, b'a'], Box::<[u8]>::from(*b"b"));
    for (request, expected) in [
        (Request::of("alice"), "alice".as_bytes()),
        (Request::of(&text), b"alice"),
        (Request::of(b"alice"), b"alice"),
        (Request::of(&bytes), &[0xff, 0, b'a']),
        (Request::of(&boxed), b"b"),
        (Request::of(Key::new(b"alice").unwrap()), b"alice"),
        (Request::of("alice".into_key()), b"alice"),
        (Request::of(7_u8.into_key()), b"7"),
        (Request::of(0), b"0"),
        (Request::of(-42_i64), b"-42"),
        (Request::of(u128::MAX), b"340282366920938463463374607431768211455"),
        (Request::of(i128::MIN), b"-170141183460469231731687303715884105728"),
        (Request::of(Ipv4Addr::LOCALHOST), b"127.0.0.1"),
        (Request::of(Ipv6Addr::LOCALHOST), b"::1"),
        (Request::of(mapped), b"203.0.113.9"),
        (Request::of(IpAddr::V6(mapped)), b"203.0.113.9"),
        (Request::of("2001:DB8::1".parse::<IpAddr>().unwrap()), b"2001:db8::1"),
    ] {
        let key = |op: &Op<'_>| op.items[0].subject.key.as_bytes().to_vec();
        let key = request.with_op(&policy(&["gcra 1/s"]), Act::Check, key).unwrap();
        assert_eq!(key, expected, "{request:?}");
        assert_eq!(request.key_of(None), Some(expected));
    }
}

#[test]
fn each_limit_gets_the_key_of_its_subject() {
    let user = String::from("ann");
    let request = Request::new()
        .subject("ip", IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9)))
        .subject("user", &user)
        .subject("tenant", 42_u32)
        .key("nameless")
        .subject("unused", "x");
    let lines = [
        "gcra 1/s per user",
        "gcra 1/s",
        "gcra 1/s per ip",
        "gcra 1/s per tenant",
        "gcra 1/s per user",
    ];
    let expected = ["ann", "nameless", "203.0.113.9", "42", "ann"].map(|key| item(key, 1));
    assert_eq!(items(&request, &lines), expected);
    assert_eq!(request.key_of(Some("tenant")), Some(&b"42"[..]));
    assert_eq!(request.key_of(Some("other")), None);
}

#[test]
fn per_all_needs_no_key_and_counts_all_together() {
    let lines = ["gcra 1/s burst 2 per all"];
    assert_eq!(items(&Request::new(), &lines), [item("*", 1)]);
    assert_eq!(items(&Request::of("a").subject("all", "b"), &lines), [item("*", 1)]);
    let (policy, store) = (policy(&lines), PlainStore::default());
    let allowed = ["a", "b", "c"].map(|key| {
        let apply = |op: &Op<'_>| store.apply_one(op, Time::EPOCH).unwrap().allowed;
        Request::of(key).with_op(&policy, Act::Check, apply).unwrap()
    });
    assert_eq!(allowed, [true, true, false]);
}

#[test]
fn the_default_cost_is_one_and_that_of_a_unit_is_zero() {
    let lines =
        ["gcra 60/min", "gcra 90000/min of tokens", "gcra 1/s of bytes per all", "unlimited"];
    let costs = |request: Request<'_>| {
        items(&request, &lines).into_iter().map(|(_, cost)| cost).collect::<Vec<_>>()
    };
    let key = || Request::of("a");
    assert_eq!(costs(key()), [1, 0, 0, 1]);
    assert_eq!(costs(key().cost(3)), [3, 0, 0, 3]);
    assert_eq!(costs(key().cost(0)), [0, 0, 0, 0]);
    assert_eq!(costs(key().cost_of("tokens", 850)), [1, 850, 0, 1]);
    assert_eq!(costs(key().cost_of("bytes", 7).cost_of("tokens", 850).cost(2)), [2, 850, 7, 2]);
    assert_eq!(costs(key().cost(1).cost(5)), [5, 0, 0, 5], "the last counts");
}

/// A gateway before a language model: one request, and tokens that are known afterwards.
#[test]
fn limits_of_several_units_stand_or_fall_together() {
    let policy = policy(&["gcra 60/min burst 2", "gcra 1000/min of tokens"]);
    let (store, each) = (PlainStore::default(), LimitStatuses::default());
    let apply = |request: Request<'static>, act: Act| -> (Decision, Vec<Option<u64>>) {
        let request = request.to_owned_request();
        let request = request.as_request().key("a").statuses(&each);
        let apply = |op: &Op<'_>| store.apply_one(op, Time::EPOCH).unwrap();
        let decision = request.with_op(&policy, act, apply).unwrap();
        (decision, each.to_vec().iter().map(|status| status.remaining).collect())
    };
    let tokens = |cost| Request::new().cost_of("tokens", cost);
    let (reserved, left) = apply(tokens(900).id("r"), Act::Reserve);
    assert_eq!((reserved.allowed, left), (true, vec![Some(1), Some(100)]));
    let (denied, left) = apply(tokens(101), Act::Check);
    assert_eq!((denied.allowed, denied.bound_by, left), (false, 1, vec![Some(1), Some(100)]));
    let allows: Vec<bool> = each.to_vec().iter().map(LimitStatus::allows).collect();
    assert_eq!(allows, [true, false]);
    let (settled, left) = apply(tokens(250).id("r"), Act::Settle);
    assert_eq!((settled.allowed, left), (true, vec![Some(1), Some(750)]));
    let (again, left) = apply(tokens(250).id("r"), Act::Settle);
    assert_eq!((again, left), (settled, vec![]), "remembered: no limit was asked");
    let (charged, left) = apply(Request::new().cost(0).cost_of("tokens", 800), Act::Charge);
    assert_eq!((charged.allowed, left), (true, vec![Some(1), Some(0)]));
    let (in_debt, _) = apply(Request::new(), Act::Check);
    assert_eq!((in_debt.allowed, in_debt.bound_by), (false, 1), "a debt denies what takes nothing");
}

#[test]
fn an_owned_request_is_the_same_operation() {
    let policy =
        policy(&["gcra 10/s per user", "gcra 90000/min of tokens per ip", "fixed-window 9/day"]);
    let address: IpAddr = "2001:db8::1".parse().unwrap();
    let request = Request::of("nameless").subject("user", 42).subject("ip", address);
    for request in [
        request.clone(),
        request.clone().cost(7).cost_of("tokens", 850).id("id-1"),
        request.clone().cost(0).factor(decimal("0.5")),
    ] {
        let owned = request.to_owned_request();
        assert_eq!(op(&owned.as_request(), &policy).unwrap(), op(&request, &policy).unwrap());
        let again = owned.as_request().to_owned_request();
        assert_eq!(format!("{again:?}"), format!("{owned:?}"));
    }
    let owned = request.clone().id("x").to_owned_request();
    assert_eq!((owned.id(), request.to_owned_request().id()), (Some(&b"x"[..]), None));
}

#[test]
fn an_owned_request_keeps_its_mistakes() {
    let policy = policy(&["gcra 10/s"]);
    for request in [
        Request::new(),
        Request::of(""),
        Request::of("a").key("b"),
        Request::of("a").cost_of("x", 1),
    ] {
        let owned = request.to_owned_request();
        let error = op(&owned.as_request(), &policy).unwrap_err();
        assert_eq!(error, op(&request, &policy).unwrap_err());
    }
}

#[test]
fn a_policy_without_limits_allows_everything() {
    let (policy, store) = (policy(&[]), PlainStore::default());
    let apply = |op: &Op<'_>| store.apply_one(op, Time::EPOCH).unwrap();
    let decision = Request::new().with_op(&policy, Act::Check, apply).unwrap();
    assert_eq!((decision.allowed, decision.limit, decision.remaining), (true, None, None));
}

/// Statuses that were filled by an earlier operation do not look like those of a later one.
#[test]
fn statuses_are_those_of_the_last_operation() {
    let (store, each) = (PlainStore::default(), LimitStatuses::default());
    let (two, one) =
        (policy(&["gcra 1/s burst 5", "fixed-window 9/day"]), policy(&["gcra 1/week"]));
    let apply = |policy: &Policy, act: Act, cost: u64, id: Option<&str>| {
        let request = Request::of("a").cost(cost).statuses(&each);
        let request = match id {
            Some(id) => request.id(id),
            None => request,
        };
        let applied = request.with_op(policy, act, |op| store.apply_one(op, Time::EPOCH)).unwrap();
        (applied.is_ok(), each.to_vec().len())
    };
    assert_eq!(apply(&two, Act::Check, 1, Some("a")), (true, 2));
    assert_eq!(apply(&two, Act::Check, 1, Some("a")), (true, 0), "remembered");
    assert_eq!(apply(&one, Act::Peek, 1, None), (true, 1));
    assert_eq!(apply(&one, Act::Charge, 1 << 20, None), (false, 0), "too much debt");
    assert_eq!((each.get(0), each.get(1)), (None, None));
}

#[test]
fn a_denial_as_an_error_says_how_long_to_wait() {
    let apply = |line: &str, costs: &[u64]| {
        let (policy, store) = (policy(&[line]), PlainStore::default());
        let decide = |cost: &u64| {
            let apply = |op: &Op<'_>| store.apply_one(op, Time::EPOCH).unwrap();
            Request::of("a").cost(*cost).with_op(&policy, Act::Check, apply).unwrap()
        };
        let decisions: Vec<Decision> = costs.iter().map(decide).collect();
        *decisions.last().unwrap()
    };
    assert!(apply("gcra 1/s burst 5", &[5]).into_result().is_ok());
    for (line, costs, wait, message) in [
        ("gcra 1/s", &[1, 1][..], Some(1_000_000), "denied: retry after 1s"),
        ("gcra 1000/s burst 1", &[1, 1], Some(1_000), "denied: retry after 1ms"),
        ("fixed-window 1/h", &[1, 1], Some(3_600_000_000), "denied: retry after 1h"),
        ("gcra 1/s burst 5", &[6], None, "denied: the cost exceeds the limit of 5"),
    ] {
        let decision = apply(line, costs);
        let denied = decision.into_result().unwrap_err();
        assert_eq!(denied.retry_after(), wait.map(Span::from_micros), "{line}");
        assert_eq!(denied.to_string(), message);
        assert_eq!(*denied.decision(), decision);
        assert!(std::error::Error::source(&denied).is_none());
    }
}
