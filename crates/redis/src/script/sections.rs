//! The sources, cut into their sections.
//!
//! A source is Lua with two kinds of comments that mean something: `--: name` begins a section, and
//! `--+ name` stands for the section of that name. `$name` stands for what the place is assembled for.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::call::shape::Kind;

type Sections = HashMap<&'static str, &'static str>;

macro_rules! source {
    ($name:literal) => {
        LazyLock::new(|| cut(include_str!(concat!("../../lua/", $name, ".lua"))))
    };
}

static FLOW: LazyLock<Sections> = source!("flow");
static DRIP: LazyLock<Sections> = source!("drip");
static WINDOW: LazyLock<Sections> = source!("window");
static SLOTS: LazyLock<Sections> = source!("slots");
static ESTIMATE: LazyLock<Sections> = source!("estimate");
static FADE: LazyLock<Sections> = source!("fade");
static HELD: LazyLock<Sections> = source!("held");
/// What all rules share.
static COMMON: [LazyLock<Sections>; 5] =
    [source!("acts"), source!("notes"), source!("state"), source!("ids"), source!("muldiv")];

fn cut(source: &'static str) -> Sections {
    let sections = source.split("--: ").skip(1).filter_map(|part| part.split_once('\n'));
    sections.map(|(name, text)| (name.trim_end(), text.trim_end())).collect()
}

fn of_rule(kind: Kind) -> Option<&'static Sections> {
    match kind {
        Kind::Flow => Some(&FLOW),
        Kind::Drip => Some(&DRIP),
        Kind::Aligned | Kind::Calendar | Kind::Request => Some(&WINDOW),
        Kind::Slots => Some(&SLOTS),
        Kind::Estimate => Some(&ESTIMATE),
        Kind::Fade => Some(&FADE),
        Kind::Held => Some(&HELD),
        Kind::Unlimited => None,
    }
}

/// The section of that name: the rule's own, or else the one that all rules share. A rule that has
/// nothing to say leaves it empty.
pub(super) fn find(kind: Kind, name: &str) -> &'static str {
    let own = of_rule(kind).and_then(|sections| sections.get(name));
    own.or_else(|| COMMON.iter().find_map(|sections| sections.get(name))).copied().unwrap_or("")
}

/// The variant of a section for the way windows are laid.
pub(super) fn variant(kind: Kind) -> &'static str {
    match kind {
        Kind::Aligned => "aligned",
        Kind::Calendar => "calendar",
        Kind::Request => "request",
        _ => "",
    }
}
