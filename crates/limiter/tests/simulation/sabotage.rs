//! Mistakes that are made on purpose, to show that the judges find them.

use tollgate::{Act, Decision, Span};

use crate::trace::Operation;

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sabotage {
    None,
    /// A check that the store denied is answered as allowed.
    ForgesAdmissions,
    /// A caller gets the admission of another.
    AnswersTwice,
    /// The store admits what it should deny.
    AdmitsTooMuch,
    /// The store denies for a while what it should admit.
    LiesAboutWaits,
    /// A retry is done again.
    IgnoresIds,
    /// What was allowed without the store is not charged to it.
    LosesCharges,
    /// A node takes too long.
    AnswersLate,
    /// A node admits by itself, and says so, more than its share.
    ForgetsLocalCounts,
    /// What a node takes ahead is not taken from the store.
    TakesNothingAhead,
    /// A node gives back what it has spent.
    GivesBackTooMuch,
    /// What a node writes does not arrive, and seems to.
    LosesWrites,
    /// What a node writes arrives without its id.
    WritesWithoutId,
    /// A node writes behind, or takes ahead, as much as it likes.
    IgnoresPart,
}

impl Sabotage {
    /// Returns the part of a limit that a node is set to have unwritten or taken ahead, in percent.
    pub(crate) fn part(self, planned: u8) -> u8 {
        if self == Sabotage::IgnoresPart { 100 } else { planned }
    }

    /// Returns what becomes of an operation between the layers and the network.
    pub(crate) fn send(self, op: Operation) -> Operation {
        match (self, op.act) {
            (Sabotage::TakesNothingAhead, Act::Reserve) | (Sabotage::LosesWrites, Act::Charge) => {
                Operation { act: Act::Peek, id: None, ..op }
            }
            (Sabotage::GivesBackTooMuch, Act::Settle) => {
                Operation { costs: vec![0; op.costs.len()], ..op }
            }
            (Sabotage::WritesWithoutId, Act::Charge) => Operation { id: None, ..op },
            _ => op,
        }
    }

    /// Returns what is done in place of an operation; `None` if nothing is.
    pub(crate) fn before(self, op: &Operation) -> Option<Operation> {
        match (self, op.act) {
            (Sabotage::IgnoresIds, _) => Some(Operation { id: None, ..op.clone() }),
            (Sabotage::LosesCharges, Act::Charge) => None,
            (Sabotage::LiesAboutWaits, Act::Check) => None,
            _ => Some(op.clone()),
        }
    }

    /// Changes an answer.
    pub(crate) fn after(
        self,
        op: &Operation,
        decision: &mut Decision,
        last: &Option<(Operation, Decision)>,
    ) {
        let is_check = op.act == Act::Check && op.id.is_none();
        match (self, last) {
            (Sabotage::ForgesAdmissions, _) if is_check => decision.allowed = true,
            (Sabotage::AnswersTwice, Some((last_op, last))) if is_check && last_op == op => {
                *decision = *last;
            }
            (Sabotage::LiesAboutWaits, _) if op.act == Act::Check => {
                decision.allowed = false;
                decision.remaining = op.cost().checked_sub(1);
                decision.retry_after = Some(Span::from_micros(900_000));
            }
            _ => {}
        }
    }
}
