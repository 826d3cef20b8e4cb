//! The parts in `lua/`, cut into their sections. `lua/README.md` says how they are written.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::shape::RuleKind;

type Sections = HashMap<&'static str, &'static str>;

macro_rules! part {
    ($($name:literal),+) => {
        LazyLock::new(|| cut(concat!($(include_str!(concat!("../../lua/", $name, ".lua"))),+)))
    };
}

static FLOW: LazyLock<Sections> = part!("flow");
static DRIP: LazyLock<Sections> = part!("drip");
static WINDOW: LazyLock<Sections> = part!("window");
static SLOTS: LazyLock<Sections> = part!("slots", "slots_reserved");
static ESTIMATE: LazyLock<Sections> = part!("estimate");
static FADE: LazyLock<Sections> = part!("fade");
static HELD: LazyLock<Sections> = part!("held", "leases", "marks");
/// The parts that all rules share.
static COMMON: [LazyLock<Sections>; 11] = [
    part!("acts"),
    part!("runs"),
    part!("reservations"),
    part!("caps"),
    part!("rows"),
    part!("apart"),
    part!("blocks"),
    part!("state"),
    part!("replies"),
    part!("muldiv"),
    part!("decimal"),
];

fn cut(part: &'static str) -> Sections {
    let sections = part.split("--: ").skip(1).filter_map(|section| section.split_once('\n'));
    sections.map(|(name, text)| (name.trim_end(), text.trim_end())).collect()
}

fn of_rule(kind: RuleKind) -> Option<&'static Sections> {
    match kind {
        RuleKind::Flow => Some(&FLOW),
        RuleKind::Drip => Some(&DRIP),
        RuleKind::Aligned | RuleKind::Calendar | RuleKind::Request => Some(&WINDOW),
        RuleKind::Slots => Some(&SLOTS),
        RuleKind::Estimate => Some(&ESTIMATE),
        RuleKind::Fade => Some(&FADE),
        RuleKind::Held => Some(&HELD),
        RuleKind::Unlimited => None,
    }
}

/// Returns the section of that name: the rule's own, else the one that all rules share, else nothing.
pub(super) fn find(kind: RuleKind, name: &str) -> &'static str {
    let own = of_rule(kind).and_then(|sections| sections.get(name));
    own.or_else(|| COMMON.iter().find_map(|sections| sections.get(name))).copied().unwrap_or("")
}

/// Returns the name of the variant of a section for the alignment of windows.
pub(super) fn variant(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Aligned => "aligned",
        RuleKind::Calendar => "calendar",
        RuleKind::Request => "request",
        _ => "",
    }
}
