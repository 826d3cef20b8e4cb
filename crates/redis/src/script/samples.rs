//! Writes assembled scripts of representative shapes to a folder, for `scripts/lua-lint`.

use std::path::PathBuf;
use std::{env, fs};

use smallvec::SmallVec;
use tollgate_core::Act;

use super::ScriptOptions;
use super::assemble::assemble;
use crate::shape::{Idempotency, LimitShape, RuleKind, Shape};

/// All kinds of rules.
const KINDS: [RuleKind; 10] = [
    RuleKind::Flow,
    RuleKind::Drip,
    RuleKind::Aligned,
    RuleKind::Calendar,
    RuleKind::Request,
    RuleKind::Slots,
    RuleKind::Estimate,
    RuleKind::Fade,
    RuleKind::Held,
    RuleKind::Unlimited,
];

fn limits(kinds: &[RuleKind], subjects: usize, count_denied: bool) -> SmallVec<[LimitShape; 2]> {
    let number = |n: usize| u8::try_from(n).unwrap();
    let limit = |(index, kind): (usize, &RuleKind)| LimitShape {
        position: number(index),
        kind: *kind,
        count_denied,
        subject: number(index.min(subjects - 1)),
    };
    kinds.iter().enumerate().map(limit).collect()
}

fn shape(act: Act, limits: SmallVec<[LimitShape; 2]>) -> Shape {
    Shape {
        act,
        runs: false,
        read_only: act == Act::Peek,
        partial: false,
        dry_run: false,
        explicit_time: false,
        with_handle: false,
        internal_handle: false,
        assume_changed: false,
        idempotency: if act == Act::Reset { Idempotency::ForgetAll } else { Idempotency::Ignore },
        commits: None,
        limits,
    }
}

/// Returns variants of a shape: plain, with costs for some limits only, with the time passed in, with an id,
/// and the steps of `cross_slot.rs`.
fn variants(plain: &Shape) -> Vec<(&'static str, Shape)> {
    let act = plain.act;
    let idempotency = match act {
        Act::Release => Idempotency::Forget,
        act if act.is_remembered() => Idempotency::Remember(act),
        _ => plain.idempotency,
    };
    let with_id = Shape { with_handle: true, idempotency, ..plain.clone() };
    let mut variants = vec![
        ("plain", plain.clone()),
        ("partial", Shape { partial: true, ..plain.clone() }),
        ("at", Shape { explicit_time: true, ..plain.clone() }),
        ("id", with_id.clone()),
        ("at-id", Shape { explicit_time: true, ..with_id.clone() }),
        (
            "tried",
            Shape { dry_run: true, idempotency: Idempotency::Recall(act), ..with_id.clone() },
        ),
    ];
    if matches!(act, Act::Reserve | Act::Charge) {
        let reserve = Shape { idempotency: Idempotency::Ignore, internal_handle: true, ..with_id };
        let commit = Shape {
            act: Act::Settle,
            idempotency: Idempotency::Remember(act),
            commits: Some(act),
            ..reserve.clone()
        };
        let partial = Shape { partial: true, ..reserve.clone() };
        variants.extend([("reserve", reserve), ("reserve-partial", partial), ("commit", commit)]);
    }
    variants
}

/// Returns the shapes of calls with several checks: plain, with ids, and with the time passed in.
fn runs(limits: SmallVec<[LimitShape; 2]>) -> Vec<(&'static str, Shape)> {
    let plain = Shape { runs: true, ..shape(Act::Check, limits) };
    let with_ids = Shape { idempotency: Idempotency::Remember(Act::Check), ..plain.clone() };
    let at = Shape { explicit_time: true, ..with_ids.clone() };
    vec![("runs", plain), ("runs-ids", with_ids), ("runs-at-ids", at)]
}

/// Writes one file for each sample: each rule alone, every variant with one rule, and policies of several
/// limits and subjects.
#[test]
#[ignore = "writes files for scripts/lua-lint"]
fn write_samples() {
    let folder =
        env::var_os("TOLLGATE_LUA_SAMPLES").expect("TOLLGATE_LUA_SAMPLES: a folder to write to");
    let folder = PathBuf::from(folder);
    let write = |name: &str, variant: &str, shape: &Shape| {
        let file = format!("{name}-{}-{variant}.lua", shape.act);
        fs::write(folder.join(file), assemble(shape, &ScriptOptions::default())).unwrap();
    };
    for act in Act::ALL {
        for kind in KINDS {
            let with_id = variants(&shape(act, limits(&[kind], 1, false))).remove(3).1;
            write(&format!("{kind:?}"), "id", &with_id);
            write(&format!("{kind:?}"), "id-partial", &Shape { partial: true, ..with_id.clone() });
        }
        for (name, count_denied) in [("variants", false), ("variants-count-denied", true)] {
            for (variant, shape) in variants(&shape(act, limits(&KINDS[..1], 1, count_denied))) {
                write(name, variant, &shape);
            }
        }
        write("two", "plain", &shape(act, limits(&KINDS[4..6], 2, false)));
        write("ten", "plain", &shape(act, limits(&KINDS, 3, act.can_be_denied())));
    }
    let of_runs = KINDS.into_iter().filter(|kind| *kind != RuleKind::Held);
    for kind in of_runs.clone() {
        for (variant, shape) in runs(limits(&[kind], 1, false)) {
            write(&format!("{kind:?}"), variant, &shape);
        }
    }
    let nine: Vec<RuleKind> = of_runs.collect();
    for (name, kinds, subjects) in [("two", &nine[4..6], 2), ("nine", &nine[..], 3)] {
        for (variant, shape) in runs(limits(kinds, subjects, false)) {
            write(name, variant, &shape);
        }
    }
}
