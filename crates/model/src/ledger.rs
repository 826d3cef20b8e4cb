//! The history of one limit of a key: its events, and the reservations not yet settled.

use crate::counting::{Change, Counting, Event, Id, fresh};
use crate::fade::power;
use crate::law::deciding_instant;
use crate::{Rule, TooMuch};

/// How long a debt may take to drain, in ticks.
const MAX_DEBT_TICKS: u64 = 1 << 51;

/// How long a reservation can be settled.
const RESERVATION_TTL: u64 = 3_600_000_000;

#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    history: Vec<Event>,
    reservations: Vec<Reservation>,
}

/// A reservation that may still be settled.
#[derive(Debug, Clone, Copy)]
struct Reservation {
    id: Id,
    /// The instant at which it was taken.
    at: u64,
    estimate: u64,
    /// Minimum, since then, of what it could have refunded: giving back more would be more generous
    /// than if less had been taken at first.
    max_refund: u64,
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

    /// Returns how much is held under `id`; `None` for rules without leases.
    pub fn held(&self, rule: &Rule, t: u64, id: Id) -> Option<u64> {
        self.replay(rule).held(t, id)
    }

    /// Returns whether a reservation under `id` can be settled; `None` for a limit that counts nothing.
    pub fn is_reserved(&self, rule: &Rule, t: u64, id: Id) -> Option<bool> {
        let open = |reservation: &Reservation| reservation.id == id && t < reservation.until;
        (*rule != Rule::Unlimited).then(|| self.reservations.iter().any(open))
    }

    /// Applies a change at `t`, or at the instant that the state implies if that is later.
    pub fn with(&self, rule: &Rule, t: u64, change: Change) -> Result<Written, TooMuch> {
        let te = deciding_instant(self.replay(rule).as_ref(), t);
        self.with_at(rule, t, te, change)
    }

    fn with_at(&self, rule: &Rule, t: u64, when: u64, change: Change) -> Result<Written, TooMuch> {
        let mut ledger = self.clone();
        let mut counting = self.replay(rule);
        ledger.reservations.retain(|reservation| t < reservation.until);
        if !matches!(change, Change::Renew { .. }) {
            ledger.cap_refunds(counting.as_ref(), when);
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
            ledger.cap_refunds(counting.as_ref(), when);
        }
        let changed = true;
        Ok(Written { ledger, changed })
    }

    pub fn unchanged(&self) -> Written {
        Written { ledger: self.clone(), changed: false }
    }

    /// Caps the refunds: what no longer counts cannot be given back later either.
    fn cap_refunds(&mut self, counting: &dyn Counting, when: u64) {
        for reservation in &mut self.reservations {
            reservation.max_refund = reservation.max_refund.min(counting.refundable(
                when,
                reservation.at,
                reservation.id,
            ));
        }
    }

    /// Takes an estimate and records the reservation.
    pub fn reserve(&self, rule: &Rule, t: u64, estimate: u64, id: Id) -> Result<Written, TooMuch> {
        let at = deciding_instant(self.replay(rule).as_ref(), t);
        let take = Change::Take { cost: estimate, id: Some(id) };
        let mut written = self.with_at(rule, t, at, take)?;
        // A reservation of 0 is recorded too: it can be settled with more.
        if written.changed || estimate == 0 {
            written.ledger.forget(id);
            // A write removes what has expired, so that a clock that steps back does not find it.
            written.ledger.reservations.retain(|reservation| t < reservation.until);
            let counting = written.ledger.replay(rule);
            let max_refund = if counting.empty(at) { 0 } else { counting.refundable(at, at, id) };
            let until = t + RESERVATION_TTL;
            written.ledger.reservations.push(Reservation { id, at, estimate, max_refund, until });
        }
        Ok(written)
    }

    pub fn forget(&mut self, id: Id) {
        self.reservations.retain(|reservation| reservation.id != id);
    }

    /// Corrects a reservation, as if `actual` had been charged when it was made, or stricter.
    pub fn settle(&self, rule: &Rule, t: u64, actual: u64, id: Id) -> Result<Written, TooMuch> {
        let reservation = self.reservations.iter().find(|it| it.id == id && t < it.until);
        let Some(reservation) = reservation.copied() else {
            return Ok(self.unchanged());
        };
        let counting = self.replay(rule);
        let when = deciding_instant(counting.as_ref(), t).max(reservation.at);
        let least = reservation.max_refund.min(counting.refundable(when, reservation.at, id));
        let change = correction(&reservation, actual, least);
        let Written { ledger, changed } = self.with_at(rule, t, when, change)?;
        let mut reservations = self.clone();
        reservations.forget(id);
        if changed {
            reservations.reservations.retain(|reservation| t < reservation.until);
            reservations.cap_refunds(counting.as_ref(), when);
        }
        reservations.lower_refunds(rule, &reservation, actual, least);
        let mut ledger = Ledger { reservations: reservations.reservations, ..ledger };
        if changed {
            ledger.cap_refunds(ledger.replay(rule).as_ref(), when);
        }
        Ok(Written { ledger, changed })
    }

    /// Lowers the refunds of other reservations: with the actual cost from the start, there would
    /// have been less to refund since then.
    fn lower_refunds(&mut self, rule: &Rule, settled: &Reservation, actual: u64, least: u64) {
        let less = settled.estimate.saturating_sub(actual);
        for reservation in &mut self.reservations {
            let overlap = overlap(rule, less, settled.at, reservation.at);
            // If the difference had been missing in all the time that the other was open.
            let always = reservation.max_refund.saturating_sub(overlap);
            // If the other's least was before, when the difference was not there.
            let since = least.saturating_sub(less).min(reservation.max_refund);
            let was_before = reservation.at <= settled.at;
            reservation.max_refund = if was_before { always.max(since) } else { always };
        }
    }
}

/// Returns how much of a cost taken at one instant is counted together with one taken at another.
fn overlap(rule: &Rule, cost: u64, at: u64, other: u64) -> u64 {
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

/// Returns whether a debt lasts too long, or a count is too large. (Leases end; they are not a debt.)
fn too_much(rule: &Rule, counting: &dyn Counting, when: u64) -> bool {
    let lasts = !matches!(rule, Rule::Held { .. }) && !counting.empty(when + MAX_DEBT_TICKS);
    lasts || counting.overflows(when)
}

fn correction(reservation: &Reservation, actual: u64, least: u64) -> Change {
    let Reservation { id, at, estimate, .. } = *reservation;
    if actual > estimate {
        let cost = actual - estimate;
        Change::TakeLate { cost, first: estimate, at, id }
    } else {
        let cost = (estimate - actual).min(least);
        Change::GiveBack { cost, at, id }
    }
}
