//! The fast paths agree with `decide`: checks over packed states and over one word. States survive
//! being written as bytes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tollgate_core::contract::{ALGORITHMS, limit_line};
use tollgate_core::remote::{LimitParams as _, RemoteLimit, RemoteState};
use tollgate_core::storage::{Handle, LimitStorage as _, Packed, State, Terms, decide};
use tollgate_core::{Act, Decision, Id, Item, Key, Limit, LimitStatus, Name, Op, StoreError, Time};

/// Where one-word states are counted from.
const ORIGIN: Time = Time::EPOCH;

fn apply(
    limit: &Limit,
    state: &mut Option<State>,
    act: Act,
    cost: u64,
    now: Time,
) -> Result<Decision, StoreError> {
    apply_with(limit, state, act, cost, None, now)
}

fn apply_with(
    limit: &Limit,
    state: &mut Option<State>,
    act: Act,
    cost: u64,
    handle: Option<Handle>,
    now: Time,
) -> Result<Decision, StoreError> {
    let (name, id) = (Name::default(), Id::new(b"id").ok().filter(|_| act != Act::Check));
    let items = [Item { limit, subject: Key::new(b"key").unwrap().into(), cost }];
    let op = Op::check(&name, &items).with_act(act);
    let op = id.map_or(op, |id| op.with_id(id));
    decide(&op, handle, std::slice::from_mut(state), now).map(|outcome| outcome.decision)
}

/// Returns the status of the limit for a check that takes nothing.
fn peek(limit: &Limit, state: Option<&State>, cost: u64, now: Time) -> LimitStatus {
    let mut state = state.cloned();
    apply(limit, &mut state, Act::Peek, cost, now).unwrap().only_status()
}

fn packed(state: Option<&State>) -> Option<Packed> {
    state.and_then(State::packed)
}

/// Checks over a state packed under the limit's own terms, and over one word if that is enough.
fn fast_paths(
    limit: &Limit,
    before: Option<&State>,
    cost: u64,
    now: Time,
) -> (Option<Decision>, Option<Decision>) {
    let kept = packed(before);
    if before.is_some() && kept.is_none() {
        return (None, None);
    }
    if !kept.is_none_or(|kept| limit.terms() == Some(kept.terms())) {
        return (None, None);
    }
    let by_words = limit.check_words(kept.map(|kept| kept.words()), cost, now);
    let word = kept.map_or(Some(0), |kept| kept.one_word(ORIGIN));
    let by_word = word.and_then(|word| limit.check_word(word, ORIGIN, cost, now));
    if let (Some(kept), Some(outcome)) = (kept, &by_words) {
        let words = kept.words();
        let allowed = outcome.decision.allowed;
        assert_eq!(limit.fits_words(words, cost, now), Some(allowed));
        let taken = (outcome.decision.only_status(), outcome.words.unwrap_or(words));
        assert_eq!(limit.update_words(words, cost, now, allowed), Some(taken));
        let peeked = (peek(limit, before, cost, now), words);
        assert_eq!(limit.update_words(words, cost, now, false), Some(peeked));
    }
    if let (Some(_), Some(word), Some((decision, after))) = (kept, word, by_word) {
        assert_eq!(limit.fits_word(word, ORIGIN, cost, now), Some(decision.allowed));
        let taken = (decision.only_status(), after);
        assert_eq!(limit.update_word(word, ORIGIN, cost, now, decision.allowed), Some(taken));
        let peeked = (peek(limit, before, cost, now), word);
        assert_eq!(limit.update_word(word, ORIGIN, cost, now, false), Some(peeked));
    }
    (by_words.map(|outcome| outcome.decision), by_word.map(|(decision, _)| decision))
}

/// A check or a release over a state that is not packed. Returns the decision and the state that is left.
fn in_place(
    limit: &Limit,
    before: Option<&State>,
    act: Act,
    cost: u64,
    handle: Option<Handle>,
    now: Time,
) -> Option<(Decision, Option<State>)> {
    let mut state = before.cloned();
    let decision = match (act, &mut state) {
        (Act::Check, None) => return limit.check_new_in_place(cost, handle, now),
        (Act::Check, Some(state)) => limit.check_in_place(state, cost, handle, now),
        (Act::Release, state) => limit.release_in_place(state, handle?, cost, now),
        _ => None,
    };
    Some((decision?, state))
}

/// The time since the step before, a cost, whether the first limit is used, what to do, and for whom.
type Step = (u64, u64, bool, Act, Option<u64>);

fn step() -> impl Strategy<Value = Step> {
    let jump = prop_oneof![0_u64..50, 0_u64..2_000_000, 0_u64..90_000_000_000];
    let cost = prop_oneof![3 => 1_u64..4, 1 => 1_u64..2_000];
    let act = prop_oneof![
        8 => Just(Act::Check), 1 => Just(Act::Charge), 1 => Just(Act::Refund),
        1 => Just(Act::Reserve), 1 => Just(Act::Settle), 2 => Just(Act::Release)
    ];
    (jump, cost, prop::bool::weighted(0.8), act, prop::option::of(0_u64..4))
}

fn check_steps(limits: [&Limit; 2], steps: &[Step]) -> Result<(), TestCaseError> {
    let (mut state, mut now) = (None, Time::EPOCH);
    for (jump, cost, first, act, holder) in steps {
        let handle = holder.map(|holder| Handle::from_words([holder, 1]));
        now = Time::from_micros(now.as_micros() + jump).unwrap();
        let limit = limits[usize::from(!first)];
        let (by_words, by_word) = fast_paths(limit, state.as_ref(), *cost, now);
        let changed = in_place(limit, state.as_ref(), *act, *cost, handle, now);
        let result = apply_with(limit, &mut state, *act, *cost, handle, now);
        if let Some((decision, changed)) = changed {
            prop_assert_eq!(result.as_ref().ok(), Some(&decision));
            prop_assert_eq!(changed.as_ref().map(bytes), state.as_ref().map(bytes));
        }
        if *act == Act::Check {
            let decided = result.ok();
            prop_assert!(by_words.is_none() || by_words == decided, "{by_words:?} {decided:?}");
            prop_assert!(by_word.is_none() || by_word == decided, "{by_word:?} {decided:?}");
        }
        state = through_bytes(state)?;
        lasts_until_it_expires(state.as_ref())?;
    }
    Ok(())
}

fn lasts_until_it_expires(state: Option<&State>) -> Result<(), TestCaseError> {
    let Some(kept) = packed(state) else { return Ok(()) };
    let Some(word) = kept.one_word(ORIGIN) else { return Ok(()) };
    let expires = kept.expires().as_micros();
    for past in [expires / 2, expires - 1, expires, expires + 1] {
        let lasts = kept.terms().word_lasts(word, ORIGIN, Time::from_micros(past).unwrap());
        prop_assert_eq!(lasts, past < expires, "{} of {}", past, expires);
    }
    Ok(())
}

fn bytes(state: &State) -> Vec<u8> {
    let mut bytes = Vec::new();
    state.write_to(&mut bytes);
    bytes
}

/// Returns the state after writing and reading it, and packing and unpacking it if possible.
fn through_bytes(state: Option<State>) -> Result<Option<State>, TestCaseError> {
    let Some(state) = state else { return Ok(None) };
    let bytes = bytes(&state);
    for short in 0..bytes.len() {
        prop_assert!(State::read_from(&mut &bytes[..short]).is_none());
    }
    let read = State::read_from(&mut bytes.as_slice()).unwrap();
    prop_assert_eq!(format!("{read:?}"), format!("{state:?}"));
    if let Some(lease) = read.lone_lease() {
        return through_words(&read, lease).map(Some);
    }
    Ok(Some(read.packed().map_or(read, State::from)))
}

/// Returns a lone lease after packing and unpacking it.
fn through_words(state: &State, lease: [u64; 4]) -> Result<State, TestCaseError> {
    let [_, _, third, fourth] = lease;
    prop_assert!(third < 1 << Packed::WORD_BITS && fourth < 1 << Packed::WORD_BITS);
    let unpacked = State::of_lone_lease(lease);
    prop_assert_eq!(format!("{unpacked:?}"), format!("{state:?}"));
    let expires = state.expires();
    prop_assert!(!State::lone_lease_lasts(lease, expires));
    let before = Time::from_micros(expires.as_micros() - 1).unwrap();
    prop_assert!(State::lone_lease_lasts(lease, before));
    Ok(unpacked)
}

#[test]
fn fast_paths_agree_with_decide() {
    for algorithm in ALGORITHMS {
        let config =
            ProptestConfig { rng_seed: RngSeed::Fixed(1), cases: 256, ..Default::default() };
        let line = || limit_line(algorithm);
        let steps = prop::collection::vec(step(), 1..60);
        let mut runner = proptest::test_runner::TestRunner::new(config);
        let result = runner.run(&(line(), line(), steps), |(first, second, steps)| {
            let limits: [Limit; 2] = [first.parse().unwrap(), second.parse().unwrap()];
            check_steps([&limits[0], &limits[1]], &steps)
        });
        result.unwrap_or_else(|error| panic!("{algorithm}: {error}"));
    }
}

#[test]
fn slots_and_leases_are_checked_in_place() {
    for line in ["sliding-log 3/h", "sliding-counters 3/h", "concurrency 3 ttl 1h"] {
        let limit: Limit = line.parse().unwrap();
        let mut state = None;
        assert!(apply(&limit, &mut state, Act::Check, 1, Time::EPOCH).unwrap().allowed);
        for expected in [Some(true), Some(true), Some(false)] {
            let decision = limit.check_in_place(state.as_mut().unwrap(), 1, None, Time::EPOCH);
            assert_eq!(decision.map(|decision| decision.allowed), expected, "{line}");
        }
        assert!(limit.check_in_place(state.as_mut().unwrap(), 0, None, Time::EPOCH).is_none());
        assert!(limit.check_new_in_place(1, None, Time::EPOCH).unwrap().0.allowed, "{line}");
        assert!(!limit.check_new_in_place(4, None, Time::EPOCH).unwrap().0.allowed, "{line}");
    }
}

#[test]
fn a_lease_is_released_in_place() {
    let limit: Limit = "concurrency 3 ttl 1h".parse().unwrap();
    let handle = Handle::from_words([1, 2]);
    let (_, mut state) = limit.check_new_in_place(2, Some(handle), Time::EPOCH).unwrap();
    let other = Handle::from_words([2, 2]);
    assert!(limit.release_in_place(&mut state, other, 1, Time::EPOCH).is_none());
    let released = limit.release_in_place(&mut state, handle, 1, Time::EPOCH).unwrap();
    assert!(released.allowed && released.remaining == Some(3) && state.is_none());
    assert!(limit.release_in_place(&mut state, handle, 1, Time::EPOCH).is_none());
}

#[test]
fn one_lease_alone_fits_in_words() {
    let limit: Limit = "concurrency 3 ttl 1h".parse().unwrap();
    let mut state = None;
    for (count, expected) in [(1, true), (2, false)] {
        let handle = Some(Handle::from_words([count, 2]));
        let decision = apply_with(&limit, &mut state, Act::Check, 1, handle, Time::EPOCH);
        assert!(decision.unwrap().allowed);
        assert_eq!(state.as_ref().unwrap().lone_lease().is_some(), expected, "{count}");
    }
    let (mut state, handle) = (None, Some(Handle::from_words([1, 2])));
    for (act, expected) in [(Act::Reserve, false), (Act::Settle, true)] {
        let decision = apply_with(&limit, &mut state, act, 1, handle, Time::EPOCH);
        assert!(decision.unwrap().allowed);
        assert_eq!(state.as_ref().unwrap().lone_lease().is_some(), expected, "{act}");
    }
    let (gcra, mut other) = ("gcra 3/h".parse().unwrap(), None);
    assert!(apply(&gcra, &mut other, Act::Check, 1, Time::EPOCH).unwrap().allowed);
    assert_eq!(other.unwrap().lone_lease(), None);
}

#[test]
fn other_limits_are_not_checked_in_place() {
    for line in ["gcra 3/h", "fixed-window 3/h", "unlimited"] {
        let limit: Limit = line.parse().unwrap();
        assert!(limit.check_new_in_place(1, None, Time::EPOCH).is_none(), "{line}");
    }
}

#[test]
fn most_limits_have_a_fast_path() {
    for (line, paths) in [
        ("gcra 100/s burst 200", (true, true)),
        ("gcra 7/s", (true, true)),
        ("token-bucket 100/s", (true, true)),
        ("leaky-bucket size 10", (true, false)),
        ("fixed-window 10/h", (true, false)),
        ("request-window 10/h", (true, false)),
        ("sliding-window 10/h", (true, false)),
        ("ar1 max 10 decay 2 resolution 1s", (true, false)),
        ("sliding-log 10/h", (true, false)),
        ("sliding-counters 10/h", (true, false)),
        ("concurrency 10 ttl 1s", (false, false)),
        ("gcra 100/s count-denied", (false, false)),
    ] {
        let (by_words, by_word) = fast_paths(&line.parse().unwrap(), None, 1, Time::EPOCH);
        assert_eq!((by_words.is_some(), by_word.is_some()), paths, "{line}");
    }
}

/// Generates a double as a damaged value may have it.
fn double() -> impl Strategy<Value = f64> {
    let odd =
        [f64::NAN, f64::INFINITY, 0.0, -0.0, 5e-324, f64::MAX, 1.0 + f64::EPSILON, 1.001, 1e-6];
    prop_oneof![
        prop::sample::select(odd.to_vec()),
        any::<u64>().prop_map(f64::from_bits),
        1.0..3.0_f64,
        1e-6..1.0_f64,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..Default::default() })]

    /// A level from a damaged store fades, or is none: nothing is computed for ever.
    #[test]
    fn any_level_fades_or_is_none(
        [level, decay, floor] in [double(), double(), double()],
        (resolution, since) in (1_u64..1 << 56, 0_u64..1 << 52),
    ) {
        let words = [4, decay.to_bits(), resolution, floor.to_bits()];
        let state = Terms::from_words(words).and_then(|terms| {
            Packed::of_level(terms, level, Time::from_micros(since)?)
        });
        let limit: Limit = "ar1 max 3 decay 2 resolution 1s".parse().unwrap();
        for at in [Time::EPOCH, Time::MAX] {
            let capacity = limit.exact_capacity();
            let state = state.map_or(RemoteState::Nothing, RemoteState::Packed);
            let _ = RemoteLimit { capacity, state, now: at, cost: 1 }.status();
        }
    }

    /// Reading never panics, and neither do operations on a state that was read.
    #[test]
    fn arbitrary_bytes_are_a_state_or_none(
        mut words in prop::collection::vec(prop_oneof![0_u64..8, any::<u64>()], 0..40),
        tag in 0_u64..8,
    ) {
        words.insert(0, tag);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut state = State::read_from(&mut bytes.as_slice());
        for line in ["gcra 1/s", "leaky-bucket size 3", "fixed-window 1/s", "sliding-log 3/s",
            "sliding-window 3/s", "ar1 max 3 decay 2 resolution 1s", "concurrency 3 ttl 1s"] {
            let limit: Limit = line.parse().unwrap();
            for (act, cost) in [(Act::Peek, 1), (Act::Check, 1), (Act::Refund, 1), (Act::Settle, 2)] {
                let _ = apply(&limit, &mut state, act, cost, Time::MAX);
                let _ = apply(&limit, &mut state, act, cost, Time::EPOCH);
            }
        }
    }
}
