//! One key of one policy: what each operation does to its limits, and which ids it remembers.

use crate::counting::{Change, Id, capacity};
use crate::law::{LimitAnswer, limit_answer};
use crate::ledger::{Ledger, Written};
use crate::{Answer, Limit, Operation, Step, TooMuch};

/// How long ids are remembered, in ticks.
const ID_TTL: u64 = 60_000_000;

/// One key of one policy.
pub struct Key {
    limits: Vec<Limit>,
    /// One ledger for each limit.
    ledgers: Vec<Ledger>,
    remembered: Vec<Remembered>,
    /// The names of ids; an [`Id`] is an index into it.
    names: Vec<String>,
    limit_answers: Vec<LimitAnswer>,
}

/// An operation that took or gave something, with its answer.
struct Remembered {
    op: Operation,
    id: Id,
    until: u64,
    answer: Answer,
}

impl Key {
    /// Creates a new key of a policy with these limits.
    pub fn new(limits: Vec<Limit>) -> Key {
        Key {
            ledgers: vec![Ledger::default(); limits.len()],
            limits,
            remembered: Vec::new(),
            names: Vec::new(),
            limit_answers: Vec::new(),
        }
    }

    /// Returns the answer of each limit to the last operation. There are none if it failed, or
    /// returned a remembered answer.
    pub fn limit_answers(&self) -> &[LimitAnswer] {
        &self.limit_answers
    }

    /// Applies one operation.
    ///
    /// # Errors
    ///
    /// Fails with [`TooMuch`] if the state would become too large; then nothing is changed.
    ///
    /// # Panics
    ///
    /// Panics if reserve, settle, release or renew has no id, or if there is not one cost for each
    /// limit.
    pub fn apply(&mut self, step: &Step) -> Result<Answer, TooMuch> {
        assert_eq!(step.costs.len(), self.limits.len(), "one cost for each limit");
        self.limit_answers.clear();
        let id = step.id.as_deref().map(|name| self.id_of(name));
        if let Some(remembered) = self.recall(step, id) {
            return Ok(remembered.answer.clone());
        }
        let found = id.map(|id| self.found(step, id)).unwrap_or_default();
        let allowed = match can_be_denied(step.op) {
            true => self.all_fit(step),
            false => found.iter().all(|&it| it),
        };
        let acts = !is_follow_up(step.op) || found.contains(&true);
        let changed = acts && self.perform(step, id, allowed)?;
        self.limit_answers = self.answer_each(step);
        let answer = fold(allowed, &self.limit_answers);
        let settled = step.op == Operation::Settle && acts;
        if (changed || settled) && allowed {
            self.remember(step, id, &answer);
        }
        Ok(answer)
    }

    fn id_of(&mut self, name: &str) -> Id {
        let known = self.names.iter().position(|it| it == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    fn recall(&self, step: &Step, id: Option<Id>) -> Option<&Remembered> {
        let id = id?;
        let is_it = |it: &&Remembered| it.op == step.op && it.id == id && step.t < it.until;
        self.remembered.iter().find(is_it).filter(|_| self.still_holds(step, id))
    }

    /// Returns whether the leases that a check or reserve took under the id are held, so that no other caller has them.
    fn still_holds(&self, step: &Step, id: Id) -> bool {
        !matches!(step.op, Operation::Check | Operation::Reserve)
            || self.each(step).all(|(limit, ledger, cost)| {
                let held = ledger.held(&limit.rule, step.t, id);
                held.is_none_or(|held| held >= cost)
            })
    }

    fn remember(&mut self, step: &Step, id: Option<Id>, answer: &Answer) {
        let not_remembered = [Operation::Peek, Operation::Release, Operation::Renew];
        let Some(id) = id.filter(|_| !not_remembered.contains(&step.op)) else {
            return;
        };
        self.remembered.retain(|it| !(it.op == step.op && it.id == id));
        let until = step.t + ID_TTL;
        self.remembered.push(Remembered { op: step.op, id, until, answer: answer.clone() });
    }

    /// Returns for each limit that can have something for the operation to act on whether there is
    /// something under the id.
    fn found(&self, step: &Step, id: Id) -> Vec<bool> {
        let found = |(limit, ledger, _): (&Limit, &Ledger, u64)| match step.op {
            Operation::Settle => ledger.is_reserved(&limit.rule, step.t, id),
            Operation::Release | Operation::Renew => {
                ledger.held(&limit.rule, step.t, id).map(|held| held > 0)
            }
            _ => None,
        };
        self.each(step).filter_map(found).collect()
    }

    fn all_fit(&self, step: &Step) -> bool {
        self.each(step).all(|(limit, ledger, cost)| ledger.fits(&limit.rule, step.t, cost))
    }

    /// Returns each limit with its ledger and the cost it takes.
    fn each(&self, step: &Step) -> impl Iterator<Item = (&Limit, &Ledger, u64)> {
        let limits = self.limits.iter().zip(&self.ledgers).zip(&step.costs);
        limits.map(|((limit, ledger), &cost)| (limit, ledger, cost))
    }

    /// Performs the operation. Returns whether it changed the counts of any limit.
    fn perform(&mut self, step: &Step, id: Option<Id>, allowed: bool) -> Result<bool, TooMuch> {
        let t = step.t;
        let named = || id.expect("this operation carries an id");
        match step.op {
            Operation::Peek => Ok(false),
            Operation::Check | Operation::Reserve if !allowed => self.count_denied(step),
            Operation::Check | Operation::Charge => {
                self.change(step, |cost| Change::Take { cost, id })
            }
            Operation::Reserve => {
                self.write(step, |limit, it, cost| it.reserve(&limit.rule, t, cost, named()))
            }
            Operation::Settle => {
                self.write(step, |limit, it, cost| it.settle(&limit.rule, t, cost, named()))
            }
            Operation::Refund => self.change(step, |cost| Change::Refund { cost }),
            Operation::Renew if !allowed => Ok(false),
            Operation::Renew => self.change(step, |_| Change::Renew { id: named() }),
            Operation::Release => self.release(step, named()),
            Operation::Reset => Ok(self.reset(t)),
        }
    }

    fn change(&mut self, step: &Step, change: impl Fn(u64) -> Change) -> Result<bool, TooMuch> {
        self.write(step, |limit, ledger, cost| ledger.with(&limit.rule, step.t, change(cost)))
    }

    /// All or nothing: no ledger is replaced unless the write succeeds in every one.
    fn write(
        &mut self,
        step: &Step,
        write: impl Fn(&Limit, &Ledger, u64) -> Result<Written, TooMuch>,
    ) -> Result<bool, TooMuch> {
        let each = self.each(step);
        let written: Result<Vec<_>, _> =
            each.map(|(limit, ledger, cost)| write(limit, ledger, cost)).collect();
        Ok(self.replace(written?))
    }

    /// Counts a denied attempt in limits with `count-denied`. It holds nothing, so that it has no id.
    fn count_denied(&mut self, step: &Step) -> Result<bool, TooMuch> {
        self.write(step, |limit, ledger, cost| match limit.count_denied {
            true => ledger.with(&limit.rule, step.t, Change::Take { cost, id: None }),
            false => Ok(ledger.unchanged()),
        })
    }

    fn replace(&mut self, written: Vec<Written>) -> bool {
        let changed = written.iter().any(|it| it.changed);
        self.ledgers = written.into_iter().map(|it| it.ledger).collect();
        changed
    }

    fn release(&mut self, step: &Step, id: Id) -> Result<bool, TooMuch> {
        let changed = self.change(step, |_| Change::Release { id })?;
        self.remembered.retain(|it| it.id != id);
        for ledger in &mut self.ledgers {
            ledger.forget(id);
        }
        Ok(changed)
    }

    fn reset(&mut self, t: u64) -> bool {
        let mut limits = self.limits.iter().zip(&self.ledgers);
        let had_state = limits.any(|(limit, ledger)| ledger.alive(&limit.rule, t));
        self.ledgers.fill(Ledger::default());
        self.remembered.clear();
        had_state
    }

    fn answer_each(&self, step: &Step) -> Vec<LimitAnswer> {
        let answer = |(limit, ledger, cost): (&Limit, &Ledger, u64)| {
            let counting = ledger.replay(&limit.rule);
            limit_answer(counting.as_ref(), capacity(&limit.rule), step.t, cost)
        };
        self.each(step).map(answer).collect()
    }
}

/// Returns the answer of a policy: the strictest of its limits' answers.
fn fold(allowed: bool, limit_answers: &[LimitAnswer]) -> Answer {
    let retry = |it: &LimitAnswer| it.retry_after.unwrap_or(u64::MAX);
    let remaining = |it: &LimitAnswer| it.remaining.unwrap_or(u64::MAX);
    let greatest_retry = limit_answers.iter().map(retry).max().unwrap_or(0);
    let least_remaining = limit_answers.iter().map(remaining).min().unwrap_or(u64::MAX);
    let bound_by = limit_answers.iter().position(|it| match allowed {
        true => remaining(it) == least_remaining,
        false => retry(it) == greatest_retry,
    });
    let bound_by = bound_by.unwrap_or(0);
    Answer {
        allowed,
        limit: limit_answers.get(bound_by).and_then(|it| it.limit),
        remaining: Some(least_remaining).filter(|&it| it < u64::MAX),
        retry_after: Some(greatest_retry).filter(|&it| it < u64::MAX),
        reset_after: limit_answers.iter().map(|it| it.reset_after).max().unwrap_or(0),
        bound_by,
    }
}

/// Returns whether the operation acts on what an earlier one left.
pub(crate) fn is_follow_up(op: Operation) -> bool {
    matches!(op, Operation::Settle | Operation::Release | Operation::Renew)
}

/// Returns whether the operation can be denied because its cost does not fit.
pub(crate) fn can_be_denied(op: Operation) -> bool {
    matches!(op, Operation::Check | Operation::Peek | Operation::Reserve)
}
