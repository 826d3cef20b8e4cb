//! One key of one policy: what each operation does to its limits, and which ids it remembers.

use crate::counting::{Change, Id, capacity};
use crate::law::{LimitAnswer, limit_answer};
use crate::ledger::{Ledger, Written};
use crate::{Answer, Limit, Operation, Rule, Step, TooMuch};

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
        }
    }

    /// Applies one operation.
    ///
    /// # Errors
    ///
    /// Fails with [`TooMuch`] if the state would become too large; then nothing is changed.
    ///
    /// # Panics
    ///
    /// Panics if reserve, settle, release or renew has no id.
    pub fn apply(&mut self, step: &Step) -> Result<Answer, TooMuch> {
        let id = step.id.as_deref().map(|name| self.id_of(name));
        if let Some(remembered) = self.recall(step, id) {
            return Ok(remembered.answer.clone());
        }
        let allowed = !can_be_denied(step.op) || self.all_fit(step);
        let changed = self.perform(step, id, allowed)?;
        let answer = self.answer(step, allowed);
        if changed && allowed {
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
        self.remembered.iter().find(|it| it.op == step.op && Some(it.id) == id && step.t < it.until)
    }

    fn remember(&mut self, step: &Step, id: Option<Id>, answer: &Answer) {
        let not_remembered = [Operation::Peek, Operation::Release, Operation::Renew];
        let Some(id) = id.filter(|_| !not_remembered.contains(&step.op)) else {
            return;
        };
        self.remembered.retain(|it| !(it.op == step.op && it.id == id));
        let until = step.t + self.remembered_for(step.op);
        self.remembered.push(Remembered { op: step.op, id, until, answer: answer.clone() });
    }

    /// Returns how long the id is remembered: an id that takes leases no longer than they last.
    fn remembered_for(&self, op: Operation) -> u64 {
        let takes = [Operation::Check, Operation::Reserve, Operation::Charge].contains(&op);
        let ttls = self.limits.iter().filter_map(|limit| match limit.rule {
            Rule::Held { ttl, .. } if takes => Some(ttl),
            _ => None,
        });
        ttls.fold(ID_TTL, u64::min)
    }

    fn all_fit(&self, step: &Step) -> bool {
        let mut limits = self.limits.iter().zip(&self.ledgers);
        limits.all(|(limit, ledger)| ledger.fits(&limit.rule, step.t, step.cost))
    }

    /// Performs the operation. Returns whether it changed the counts of any limit.
    fn perform(&mut self, step: &Step, id: Option<Id>, allowed: bool) -> Result<bool, TooMuch> {
        let (t, cost) = (step.t, step.cost);
        let named = || id.expect("this operation carries an id");
        match step.op {
            Operation::Peek => Ok(false),
            Operation::Check | Operation::Reserve if !allowed => self.count_denied(t, cost, id),
            Operation::Check | Operation::Charge => self.change(t, Change::Take { cost, id }),
            Operation::Reserve => self.write(|rule, it| it.reserve(rule, t, cost, named())),
            Operation::Settle => self.write(|rule, it| it.settle(rule, t, cost, named())),
            Operation::Refund => self.change(t, Change::Refund { cost }),
            Operation::Renew => self.change(t, Change::Renew { id: named() }),
            Operation::Release => self.release(t, named()),
            Operation::Reset => Ok(self.reset(t)),
        }
    }

    fn change(&mut self, t: u64, change: Change) -> Result<bool, TooMuch> {
        self.write(|rule, ledger| ledger.with(rule, t, change))
    }

    /// All or nothing: no ledger is replaced unless the write succeeds in every one.
    fn write(
        &mut self,
        write: impl Fn(&Rule, &Ledger) -> Result<Written, TooMuch>,
    ) -> Result<bool, TooMuch> {
        let each = self.limits.iter().zip(&self.ledgers);
        let written: Result<Vec<_>, _> = each.map(|(it, ledger)| write(&it.rule, ledger)).collect();
        Ok(self.replace(written?))
    }

    /// Counts a denied attempt in limits with `count-denied`.
    fn count_denied(&mut self, t: u64, cost: u64, id: Option<Id>) -> Result<bool, TooMuch> {
        let take = Change::Take { cost, id };
        let each = self.limits.iter().zip(&self.ledgers);
        let written: Result<Vec<_>, _> = each
            .map(|(limit, ledger)| match limit.count_denied {
                true => ledger.with(&limit.rule, t, take),
                false => Ok(ledger.unchanged()),
            })
            .collect();
        Ok(self.replace(written?))
    }

    fn replace(&mut self, written: Vec<Written>) -> bool {
        let changed = written.iter().any(|it| it.changed);
        self.ledgers = written.into_iter().map(|it| it.ledger).collect();
        changed
    }

    fn release(&mut self, t: u64, id: Id) -> Result<bool, TooMuch> {
        let changed = self.change(t, Change::Release { id })?;
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

    /// Returns the answer of the policy: the strictest of its limits' answers.
    fn answer(&self, step: &Step, allowed: bool) -> Answer {
        let limit_answers: Vec<LimitAnswer> = self.limit_answers(step).collect();
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

    fn limit_answers(&self, step: &Step) -> impl Iterator<Item = LimitAnswer> {
        let each = self.limits.iter().zip(&self.ledgers);
        each.map(|(limit, ledger)| {
            let counting = ledger.replay(&limit.rule);
            limit_answer(counting.as_ref(), capacity(&limit.rule), step.t, step.cost)
        })
    }
}

/// Returns whether the operation can be denied.
pub(crate) fn can_be_denied(op: Operation) -> bool {
    matches!(op, Operation::Check | Operation::Peek | Operation::Reserve)
}
