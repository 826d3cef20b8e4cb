//! What one limit of a key has seen: its events, and the reservations not yet settled.

use crate::counting::{Change, Counting, Event, Id, fresh};
use crate::fade::power;
use crate::law::deciding_instant;
use crate::{Rule, TooMuch};

/// The longest a debt may take to drain.
const LONGEST_DEBT: u64 = 1 << 51;

/// How long a reservation can be settled.
const RESERVATION_TTL: u64 = 3_600_000_000;

#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    history: Vec<Event>,
    notes: Vec<Note>,
}

/// A reservation that may still be settled.
#[derive(Debug, Clone, Copy)]
struct Note {
    id: Id,
    /// The instant it was taken for.
    at: u64,
    estimate: u64,
    /// The least there ever was, since, of what it was taken from: no more can be given back
    /// without being more generous than if less had been taken at first.
    least: u64,
    until: u64,
}

/// A ledger after an operation, and whether its counts (or its leases' ends) changed.
pub(crate) struct Written {
    pub ledger: Ledger,
    pub changed: bool,
}

impl Ledger {
    pub fn replay<'a>(&self, rule: &'a Rule) -> Box<dyn Counting + 'a> {
        let mut counting = fresh(rule);
        for event in &self.history {
            counting.apply(event);
        }
        counting
    }

    pub fn alive(&self, rule: &Rule, t: u64) -> bool {
        let counting = self.replay(rule);
        !counting.empty(deciding_instant(counting.as_ref(), t))
    }

    pub fn fits(&self, rule: &Rule, t: u64, cost: u64) -> bool {
        let counting = self.replay(rule);
        counting.fits(deciding_instant(counting.as_ref(), t), cost)
    }

    /// A change decided for `t`, or for the instant the state implies.
    pub fn with(&self, rule: &Rule, t: u64, change: Change) -> Result<Written, TooMuch> {
        let te = deciding_instant(self.replay(rule).as_ref(), t);
        self.with_at(rule, t, te, change)
    }

    fn with_at(&self, rule: &Rule, t: u64, when: u64, change: Change) -> Result<Written, TooMuch> {
        let mut ledger = self.clone();
        let mut counting = self.replay(rule);
        ledger.notes.retain(|note| t < note.until);
        if !matches!(change, Change::Renew { .. }) {
            ledger.tighten(counting.as_ref(), when);
        }
        let event = Event { when, change };
        if !counting.apply(&event) {
            return Ok(self.unchanged());
        }
        if change.takes() && too_much(rule, counting.as_ref(), when) {
            return Err(TooMuch);
        }
        ledger.history.push(event);
        if change.gives() {
            ledger.tighten(counting.as_ref(), when);
        }
        let changed = true;
        Ok(Written { ledger, changed })
    }

    pub fn unchanged(&self) -> Written {
        Written { ledger: self.clone(), changed: false }
    }

    /// What is no longer counted cannot be given back later either.
    fn tighten(&mut self, counting: &dyn Counting, when: u64) {
        for note in &mut self.notes {
            note.least = note.least.min(counting.still(when, note.at, note.id));
        }
    }

    /// Takes an estimate and notes it.
    pub fn reserve(&self, rule: &Rule, t: u64, estimate: u64, id: Id) -> Result<Written, TooMuch> {
        let at = deciding_instant(self.replay(rule).as_ref(), t);
        let take = Change::Take { cost: estimate, id: Some(id) };
        let mut written = self.with_at(rule, t, at, take)?;
        // Nothing can be reserved too, and settled with more.
        if written.changed || estimate == 0 {
            written.ledger.forget(id);
            let counting = written.ledger.replay(rule);
            let least = if counting.empty(at) { 0 } else { counting.still(at, at, id) };
            let until = t + RESERVATION_TTL;
            written.ledger.notes.push(Note { id, at, estimate, least, until });
        }
        Ok(written)
    }

    pub fn forget(&mut self, id: Id) {
        self.notes.retain(|note| note.id != id);
    }

    /// Corrects a reservation, as if `actual` had been charged when it was made, or stricter.
    pub fn settle(&self, rule: &Rule, t: u64, actual: u64, id: Id) -> Result<Written, TooMuch> {
        let note = self.notes.iter().find(|it| it.id == id && t < it.until);
        let Some(note) = note.copied() else {
            return Ok(self.unchanged());
        };
        let counting = self.replay(rule);
        let when = deciding_instant(counting.as_ref(), t).max(note.at);
        let still = counting.still(when, note.at, id);
        let change = correction(&note, actual, still);
        let mut written = self.with_at(rule, t, when, change)?;
        written.ledger.forget(id);
        written.ledger.lessen(rule, &note, actual);
        Ok(written)
    }

    /// Had this one been right at first, there would have been less for the others.
    fn lessen(&mut self, rule: &Rule, settled: &Note, actual: u64) {
        let less = settled.estimate.saturating_sub(actual);
        for note in &mut self.notes {
            note.least = note.least.saturating_sub(shared(rule, less, settled.at, note.at));
        }
    }
}

/// How much of a cost taken for one instant was in the same pool as what was taken for another.
fn shared(rule: &Rule, cost: u64, at: u64, other: u64) -> u64 {
    let same = |length: u64| if at / length == other / length { cost } else { 0 };
    match *rule {
        Rule::Slots { resolution, .. } => same(resolution),
        Rule::Estimate { window, .. } => same(window),
        Rule::Fade { decay, resolution, .. } => {
            let steps = (at / resolution).saturating_sub(other / resolution);
            (cost as f64 * power(decay, steps)).ceil() as u64
        }
        Rule::Held { .. } => 0,
        _ => cost,
    }
}

/// Whether a debt lasts too long, or a count is too large. (Leases end; they are no debt.)
fn too_much(rule: &Rule, counting: &dyn Counting, when: u64) -> bool {
    let lasts = !matches!(rule, Rule::Held { .. }) && !counting.empty(when + LONGEST_DEBT);
    lasts || counting.overflows(when)
}

fn correction(note: &Note, actual: u64, still: u64) -> Change {
    let Note { id, at, estimate, least, .. } = *note;
    if actual > estimate {
        let cost = actual - estimate;
        Change::TakeLate { cost, first: estimate, at, id }
    } else {
        let cost = (estimate - actual).min(least).min(still);
        Change::GiveBack { cost, at, id }
    }
}
