//! The shape of a call: everything that decides which script it needs.

use smallvec::SmallVec;
use tollgate_core::remote::{LimitParams as _, RuleParams};
use tollgate_core::{Act, Op};

/// A vector that holds as many elements as most policies have limits without allocating.
pub(crate) type ShortVec<T> = SmallVec<[T; 2]>;

/// Maximum number of limits in one operation on this store: a record's tag has four bits for the position.
pub const MAX_LIMITS: usize = 16;

/// A rule; window rules are told apart by how their windows are aligned, since their scripts differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RuleKind {
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
pub(crate) struct LimitShape {
    /// Position of the limit in its policy.
    pub(crate) position: u8,
    pub(crate) kind: RuleKind,
    pub(crate) count_denied: bool,
    /// Index of the subject that it counts, among the subjects of the call.
    pub(crate) subject: u8,
}

/// What a script does with the replies that are kept under ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Idempotency {
    /// Nothing.
    Ignore,
    /// Returns the reply that is kept for this act; if there is none, keeps the new one.
    Remember(Act),
    /// Returns the reply that is kept for this act; if there is none, keeps nothing.
    Recall(Act),
    /// Keeps the new reply in place of any that is kept for this act.
    Replace(Act),
    /// Deletes the replies that are kept under this id.
    Forget,
    /// Makes all replies that are kept for the subjects invalid.
    ForgetAll,
}

/// Everything that tells one script from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) act: Act,
    /// Whether it decides several checks, which come as runs.
    pub(crate) runs: bool,
    /// Whether it takes and gives nothing, so that it only reads.
    pub(crate) read_only: bool,
    /// Whether limits without a cost are left as they are, while others may take or give. One flag for all
    /// of them: with one for each limit there would be thousands of scripts for some policies.
    pub(crate) partial: bool,
    /// Whether it only finds out whether the operation could be done.
    pub(crate) dry_run: bool,
    /// Whether the caller passes the time in.
    pub(crate) explicit_time: bool,
    /// Whether there is a handle, by which what it takes can be found again.
    pub(crate) with_handle: bool,
    /// Whether the handle is one of our own instead of the caller's.
    pub(crate) internal_handle: bool,
    /// Whether it counts as having changed something, whatever happens to these limits.
    pub(crate) assume_changed: bool,
    pub(crate) idempotency: Idempotency,
    /// For a commit: the act for which something was reserved under a handle of our own. It becomes the
    /// caller's.
    pub(crate) commits: Option<Act>,
    pub(crate) limits: ShortVec<LimitShape>,
}

impl RuleKind {
    pub(crate) fn of(params: &RuleParams) -> RuleKind {
        match params {
            RuleParams::Flow { .. } => RuleKind::Flow,
            RuleParams::Drip { .. } => RuleKind::Drip,
            RuleParams::Aligned { .. } => RuleKind::Aligned,
            RuleParams::Calendar { .. } => RuleKind::Calendar,
            RuleParams::Request { .. } => RuleKind::Request,
            RuleParams::Slots { .. } => RuleKind::Slots,
            RuleParams::Estimate { .. } => RuleKind::Estimate,
            RuleParams::Fade { .. } => RuleKind::Fade,
            RuleParams::Held { .. } => RuleKind::Held,
            // A rule that is not known here yet would have to be refused where a limit is made.
            _ => RuleKind::Unlimited,
        }
    }

    /// Returns the number of the rule in a record's tag.
    pub(crate) fn number(self) -> u8 {
        match self {
            RuleKind::Unlimited => 0,
            RuleKind::Flow => 1,
            RuleKind::Drip => 2,
            RuleKind::Aligned | RuleKind::Calendar | RuleKind::Request => 3,
            RuleKind::Slots => 4,
            RuleKind::Estimate => 5,
            RuleKind::Fade => 6,
            RuleKind::Held => 7,
        }
    }

    /// Returns how many bytes the cost and the numbers of such a limit take in the argument.
    pub(crate) fn argument_bytes(self) -> usize {
        match self {
            RuleKind::Flow => 84,
            RuleKind::Drip => 19,
            RuleKind::Aligned | RuleKind::Request | RuleKind::Estimate | RuleKind::Held => 15,
            RuleKind::Calendar => 36,
            RuleKind::Slots => 22,
            RuleKind::Fade => 35,
            RuleKind::Unlimited => 0,
        }
    }

    /// Returns how many bytes the cost of such a limit takes in a run.
    pub(crate) fn run_bytes(self) -> usize {
        match self {
            RuleKind::Flow => 44,
            RuleKind::Unlimited => 0,
            _ => 4,
        }
    }
}

/// How many of the limits that count anything have a cost above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Costs {
    None,
    Some,
    All,
}

impl Costs {
    pub(crate) fn of(op: &Op<'_>, positions: &Positions) -> Costs {
        let items = positions.iter().filter_map(|position| op.items.get(*position));
        let counting = items.filter(|item| item.limit.capacity().is_some());
        let mut costs = counting.map(|item| item.cost > 0);
        match (costs.clone().any(|cost| cost), costs.all(|cost| cost)) {
            (false, _) => Costs::None,
            (true, false) => Costs::Some,
            (true, true) => Costs::All,
        }
    }
}

/// Positions of some of an operation's limits: those that live in the same slot.
pub(crate) type Positions = [usize];

/// Returns the positions of all limits of an operation.
pub(crate) fn all_positions(op: &Op<'_>) -> &'static Positions {
    const ALL: [usize; MAX_LIMITS] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    ALL.get(..op.items.len()).unwrap_or(&ALL)
}

impl Shape {
    /// Returns the shape of an operation over some of its limits.
    pub(crate) fn of(op: &Op<'_>, positions: &Positions, explicit_time: bool) -> Shape {
        let mut subjects = ShortVec::new();
        let limits = positions.iter().filter_map(|position| {
            let item = op.items.get(*position)?;
            let subject = subjects.iter().position(|known| *known == item.subject);
            let subject = subject.unwrap_or_else(|| {
                subjects.push(item.subject);
                subjects.len().saturating_sub(1)
            });
            Some(LimitShape {
                position: u8::try_from(*position).unwrap_or(u8::MAX),
                kind: RuleKind::of(&item.limit.params()),
                count_denied: item.limit.counts_denied(),
                subject: u8::try_from(subject).unwrap_or(u8::MAX),
            })
        });
        let limits = limits.collect();
        let idempotency = match (op.act, op.id) {
            (Act::Release, Some(_)) => Idempotency::Forget,
            (act, Some(_)) if act.is_remembered() => Idempotency::Remember(act),
            (Act::Reset, None) => Idempotency::ForgetAll,
            _ => Idempotency::Ignore,
        };
        let (read_only, partial) = match op.act {
            Act::Check | Act::Charge | Act::Refund => {
                let costs = Costs::of(op, positions);
                (costs == Costs::None, costs == Costs::Some)
            }
            act => (act == Act::Peek, false),
        };
        Shape {
            act: op.act,
            runs: false,
            read_only,
            partial,
            dry_run: false,
            explicit_time,
            with_handle: op.id.is_some(),
            internal_handle: false,
            assume_changed: false,
            idempotency,
            commits: None,
            limits,
        }
    }

    /// Returns the shape of several checks that are decided in one call, `first` among them.
    pub(crate) fn of_checks(first: &Op<'_>, with_ids: bool, explicit_time: bool) -> Shape {
        let idempotency =
            if with_ids { Idempotency::Remember(Act::Check) } else { Idempotency::Ignore };
        let one = Shape::of(&first.without_id(), all_positions(first), explicit_time);
        Shape { runs: true, read_only: false, partial: false, idempotency, ..one }
    }

    /// Whether a reply that is kept may be of leases: it is returned only while they are held.
    pub(crate) fn recalls_leases(&self) -> bool {
        use Idempotency::{Recall, Remember};
        let takes = [Act::Check, Act::Reserve].iter();
        let mut recalled = takes.flat_map(|act| [Remember(*act), Recall(*act)]);
        // A commit looks whether another call with its id has committed before it.
        self.commits.is_none()
            && recalled.any(|recalled| recalled == self.idempotency)
            && self.limits.iter().any(|limit| limit.kind == RuleKind::Held)
    }

    /// Returns how many different subjects the limits count.
    pub(crate) fn subject_count(&self) -> usize {
        let counts = self.limits.iter().map(|limit| usize::from(limit.subject).saturating_add(1));
        counts.max().unwrap_or(0)
    }
}
