//! What a script must be made for: the act, and the rules of the limits in their order.

use smallvec::SmallVec;
use tollgate_core::remote::RuleParams;
use tollgate_core::{Act, Op};

/// As many as most policies have limits, without allocating for them.
pub(crate) type Few<T> = SmallVec<[T; 2]>;

/// The most limits one operation may have on a far store: a tag has four bits for the position.
pub const MAX_LIMITS: usize = 16;

/// A rule, and where that makes a difference to the script, how its windows are laid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Flow,
    Drip,
    Aligned,
    Calendar,
    Request,
    Slots,
    Estimate,
    Fade,
    Held,
    Unlimited,
}

/// One limit as the script sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    /// Where it stands in its policy.
    pub(crate) position: u8,
    pub(crate) kind: Kind,
    pub(crate) count_denied: bool,
    /// Which of the operation's subjects it counts, by the order in which they come.
    pub(crate) group: u8,
}

/// What is done about the answers that were given under ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Answers {
    /// Nothing.
    LetBe,
    /// The same was asked before under this id, or is remembered from now on, as this act.
    Remember(Act),
    /// The same was asked before under this id; if not, nothing is remembered.
    Recall(Act),
    /// What was answered under this id is forgotten.
    Forget,
    /// All that was answered is forgotten.
    ForgetAll,
}

/// All that tells one script from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) act: Act,
    /// Whether it takes and gives nothing, so that it only looks.
    pub(crate) only_looks: bool,
    /// Whether it is only tried, to see whether it could be done.
    pub(crate) dry: bool,
    /// Whether the time is passed in.
    pub(crate) timed: bool,
    /// Whether what it takes can be found again, by a handle.
    pub(crate) with_handle: bool,
    /// Whether the handle is one of our own.
    pub(crate) marks: bool,
    /// Whether it counts as changing something, whatever happens here.
    pub(crate) changes: bool,
    pub(crate) answers: Answers,
    /// What was reserved for this act under a handle of our own is now the caller's.
    pub(crate) closes: Option<Act>,
    pub(crate) forms: Few<Form>,
}

impl Kind {
    pub(crate) fn of(numbers: &RuleParams) -> Kind {
        match numbers {
            RuleParams::Flow { .. } => Kind::Flow,
            RuleParams::Drip { .. } => Kind::Drip,
            RuleParams::Aligned { .. } => Kind::Aligned,
            RuleParams::Calendar { .. } => Kind::Calendar,
            RuleParams::Request { .. } => Kind::Request,
            RuleParams::Slots { .. } => Kind::Slots,
            RuleParams::Estimate { .. } => Kind::Estimate,
            RuleParams::Fade { .. } => Kind::Fade,
            RuleParams::Held { .. } => Kind::Held,
            // One that is not known here yet would have to be refused where a limit is made.
            _ => Kind::Unlimited,
        }
    }

    /// The number of the rule in a tag.
    pub(crate) fn rule(self) -> u8 {
        match self {
            Kind::Unlimited => 0,
            Kind::Flow => 1,
            Kind::Drip => 2,
            Kind::Aligned | Kind::Calendar | Kind::Request => 3,
            Kind::Slots => 4,
            Kind::Estimate => 5,
            Kind::Fade => 6,
            Kind::Held => 7,
        }
    }

    /// How many bytes the packed numbers of such a limit take.
    pub(crate) fn argument_bytes(self) -> usize {
        match self {
            Kind::Flow => 72,
            Kind::Drip => 15,
            Kind::Aligned | Kind::Request | Kind::Estimate | Kind::Held => 11,
            Kind::Calendar => 32,
            Kind::Slots => 18,
            Kind::Fade => 31,
            Kind::Unlimited => 0,
        }
    }
}

/// How many bytes the body of each rule takes in the store, by its number; 0 for those that say so
/// themselves.
pub(crate) const BODY_BYTES: [usize; 8] = [0, 22, 25, 21, 0, 28, 38, 0];
/// How many bytes are told of a body that says its size itself.
pub(crate) const SUMMARY_BYTES: usize = 21;

/// Some of an operation's limits, by their positions: those that are counted in the same place.
pub(crate) type Positions = [usize];

/// All of them.
pub(crate) fn all_positions(op: &Op<'_>) -> &'static Positions {
    const ALL: [usize; MAX_LIMITS] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    ALL.get(..op.items.len()).unwrap_or(&ALL)
}

impl Shape {
    /// The shape of an operation over some of its limits.
    pub(crate) fn of(op: &Op<'_>, positions: &Positions, timed: bool) -> Shape {
        let mut subjects = Few::new();
        let forms = positions.iter().filter_map(|position| {
            let item = op.items.get(*position)?;
            let group = subjects.iter().position(|known| *known == item.subject);
            let group = group.unwrap_or_else(|| {
                subjects.push(item.subject);
                subjects.len().saturating_sub(1)
            });
            Some(Form {
                position: u8::try_from(*position).unwrap_or(u8::MAX),
                kind: Kind::of(&item.limit.params()),
                count_denied: item.limit.counts_denied(),
                group: u8::try_from(group).unwrap_or(u8::MAX),
            })
        });
        let forms = forms.collect();
        let answers = match (op.act, op.id) {
            (Act::Release, Some(_)) => Answers::Forget,
            (act, Some(_)) if act.is_remembered() => Answers::Remember(act),
            (Act::Reset, None) => Answers::ForgetAll,
            _ => Answers::LetBe,
        };
        let only_looks = match op.act {
            Act::Check | Act::Charge | Act::Refund => op.cost == 0,
            act => act == Act::Peek,
        };
        Shape {
            act: op.act,
            only_looks,
            dry: false,
            timed,
            with_handle: op.id.is_some(),
            marks: false,
            changes: false,
            answers,
            closes: None,
            forms,
        }
    }

    /// How many different subjects there are.
    pub(crate) fn groups(&self) -> usize {
        self.forms.iter().map(|form| usize::from(form.group).saturating_add(1)).max().unwrap_or(0)
    }
}
