//! One limit's state of one subject: what the rule counts, and the reservations still open.
//!
//! What the laws say of every rule alike stands here once: the instant of a decision, that a
//! denied check changes nothing, that the past is not given back, and how a reservation is settled.

use super::{Counting, Handle, RuleState, Taken};
use crate::act::Act;
use crate::decision::LimitStatus;
use crate::error::Overdrawn;
use crate::time::{Span, Time};

/// How long a reservation can be settled. It is a debt of memory, so it has an end; the answer of a
/// model or a download is over by then.
pub const RESERVATION_TTL: Span = Span::from_micros(3_600_000_000);

/// How many reservations one key can have open under one limit: reserving nothing is free, and must
/// not fill the memory.
pub const MAX_RESERVATIONS: usize = 1024;

/// The body if it still counts, and the instant at which the decision is made.
#[inline(always)]
pub(crate) fn alive<R: Counting>(body: Option<&R::Body>, now: Time) -> (Option<&R::Body>, Time) {
    let body = body.filter(|body| now < R::resets(body));
    (body, body.map_or(now, |body| now.max(R::instant(body))))
}

/// Whether a check of this cost would pass.
pub(crate) fn fits<R: Counting>(rule: &R, body: Option<&R::Body>, now: Time, cost: u64) -> bool {
    let (body, at) = alive::<R>(body, now);
    let room = body.map_or(Some(rule.capacity()), |body| rule.headroom(body, at));
    room.is_some_and(|room| cost <= room)
}

/// The numbers of the state, for a check of this cost.
pub(crate) fn answer<R: Counting>(
    rule: &R,
    body: Option<&R::Body>,
    now: Time,
    cost: u64,
) -> LimitStatus {
    let (body, at) = alive::<R>(body, now);
    let room = body.map_or(Some(rule.capacity()), |body| rule.headroom(body, at));
    answer_of(rule, body, now, at, room, cost)
}

/// The numbers of a body that still counts, or of none, with so much `room` at the instant `at`.
#[inline(always)]
pub(crate) fn answer_of<R: Counting>(
    rule: &R,
    body: Option<&R::Body>,
    now: Time,
    at: Time,
    room: Option<u64>,
    cost: u64,
) -> LimitStatus {
    let retry_after = match body {
        _ if cost > rule.capacity() => None,
        Some(body) if room.is_none_or(|room| cost > room) => {
            Some(rule.fits_at(body, at, cost).since(now))
        }
        _ => Some(Span::ZERO),
    };
    LimitStatus {
        limit: Some(rule.capacity()),
        remaining: Some(room.unwrap_or(0)),
        retry_after,
        reset_after: body.map_or(Span::ZERO, |body| R::resets(body).since(now)),
    }
}

/// What a limit is told to do, once the policy has decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command<'a> {
    pub(crate) act: Act,
    pub(crate) now: Time,
    pub(crate) cost: u64,
    pub(crate) handle: Option<Handle<'a>>,
    /// Whether all limits of the policy allowed it. True for what is never denied.
    pub(crate) allowed: bool,
    /// Whether this limit counts denied attempts too.
    pub(crate) count_denied: bool,
    /// Whether it may be refused, so that the way back must be kept.
    pub(crate) can_fail: bool,
}

/// An open reservation.
#[derive(Debug, Clone)]
pub(super) struct Reservation {
    pub(super) handle: Box<[u8]>,
    /// When its cost was taken.
    pub(super) at: Time,
    pub(super) estimate: u64,
    /// The least there was, ever since, of what it was taken from. More than that cannot be given
    /// back without being more generous than if less had been reserved: water that has drained
    /// meanwhile, or that a refund has given back, is no longer there.
    pub(super) least: u64,
    /// When it is forgotten; then it stands as charged.
    pub(super) until: Time,
}

/// The state of one limit and one subject.
#[derive(Debug, Clone)]
pub(crate) struct Entry<B> {
    body: Option<B>,
    reservations: Vec<Reservation>,
}

impl<B> Default for Entry<B> {
    fn default() -> Entry<B> {
        Entry { body: None, reservations: Vec::new() }
    }
}

impl<B: RuleState> Entry<B> {
    pub(super) fn with_reservations(body: Option<B>, reservations: Vec<Reservation>) -> Entry<B> {
        Entry { body, reservations }
    }

    pub(super) fn reservations(&self) -> &[Reservation] {
        &self.reservations
    }

    /// The body, if there are no reservations beside it.
    pub(crate) fn body_alone(&self) -> Option<&B> {
        self.body.as_ref().filter(|_| self.reservations.is_empty())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.body.is_none() && self.reservations.is_empty()
    }

    pub(crate) fn expires<R: Counting<Body = B>>(&self) -> Time {
        let reservations = self.reservations.iter().map(|reservation| reservation.until).max();
        self.body.as_ref().map(R::resets).max(reservations).unwrap_or(Time::EPOCH)
    }

    pub(crate) fn body(&self) -> Option<&B> {
        self.body.as_ref()
    }

    fn alive<R: Counting<Body = B>>(&self, now: Time) -> (Option<&B>, Time) {
        alive::<R>(self.body(), now)
    }

    /// Does what was ordered; whether it took or gave anything. On an error nothing has changed.
    pub(crate) fn apply<R: Counting<Body = B>>(
        &mut self,
        rule: &R,
        command: &Command<'_>,
    ) -> Result<bool, Overdrawn> {
        match command.act {
            Act::Peek => Ok(false),
            Act::Check | Act::Reserve | Act::Charge => self.take(rule, command),
            Act::Refund => Ok(self.refund(rule, command)),
            Act::Reset => Ok(self.reset::<R>(command.now)),
            Act::Settle => self.settle(rule, command),
            Act::Release => Ok(self.release(rule, command)),
            Act::Renew => Ok(self.renew(rule, command)),
        }
    }

    /// Makes ready for a change at `now`: what is past is set aside. Answers the instant of the
    /// decision, and what [`restore`](Entry::restore) needs should the change fail.
    fn open<R: Counting<Body = B>>(
        &mut self,
        now: Time,
        command: &Command<'_>,
    ) -> (Time, Entry<B>) {
        let (alive, at) = self.alive::<R>(now);
        let past = if alive.is_some() { None } else { self.body.take() };
        let reservations = if command.can_fail { self.reservations.clone() } else { Vec::new() };
        self.drop_past_notes(command.now);
        (at, Entry { body: past, reservations })
    }

    fn drop_past_notes(&mut self, now: Time) {
        self.reservations.retain(|reservation| now < reservation.until);
    }

    /// Makes room for another reservation. The oldest then stands as charged.
    fn drop_oldest_note(&mut self) {
        let oldest =
            self.reservations.iter().enumerate().min_by_key(|(_, reservation)| reservation.at);
        if let Some((place, _)) = oldest.filter(|_| self.reservations.len() >= MAX_RESERVATIONS) {
            self.reservations.remove(place);
        }
    }

    /// Puts back what [`open`](Entry::open) set aside.
    fn restore(&mut self, before: Entry<B>) {
        self.body = self.body.take().or(before.body);
        self.reservations = before.reservations;
    }

    /// Holds every reservation to what is still there of it.
    ///
    /// Between two operations what is used only sinks, so doing this before each taking and after
    /// each giving finds the least there ever was since the reservation: exactly what settling it
    /// may give back.
    fn cap_refundable<R: Counting<Body = B>>(&mut self, rule: &R, at: Time) {
        let body = self.body.as_ref();
        for reservation in &mut self.reservations {
            let refundable = body.map_or(0, |body| reservation.refundable(rule, body, at));
            reservation.least = reservation.least.min(refundable);
        }
    }

    fn take<R: Counting<Body = B>>(
        &mut self,
        rule: &R,
        command: &Command<'_>,
    ) -> Result<bool, Overdrawn> {
        if !(command.allowed || command.count_denied) {
            return Ok(false);
        }
        if command.cost == 0 {
            self.reserve(rule, self.alive::<R>(command.now).1, command);
            return Ok(false);
        }
        let (at, before) = self.open::<R>(command.now, command);
        self.cap_refundable(rule, at);
        if let Err(overdrawn) = rule.take(&mut self.body, at, command.cost, command.handle) {
            self.restore(before);
            return Err(overdrawn);
        }
        self.reserve(rule, at, command);
        Ok(true)
    }

    /// Notes what was reserved, also if that is nothing: it may be settled with more.
    fn reserve<R: Counting<Body = B>>(&mut self, rule: &R, at: Time, command: &Command<'_>) {
        if let (Act::Reserve, true, Some(handle)) = (command.act, command.allowed, command.handle) {
            self.drop_past_notes(command.now);
            self.reservations.retain(|reservation| !reservation.is_of(handle));
            self.drop_oldest_note();
            let mut reservation = Reservation::new(handle, at, command);
            reservation.least =
                self.body().map_or(0, |body| reservation.refundable(rule, body, at));
            self.reservations.push(reservation);
        }
    }

    fn refund<R: Counting<Body = B>>(&mut self, rule: &R, command: &Command<'_>) -> bool {
        if command.cost == 0 || self.alive::<R>(command.now).0.is_none() {
            return false;
        }
        let (at, _) = self.open::<R>(command.now, command);
        self.cap_refundable(rule, at);
        rule.give(&mut self.body, at, command.cost);
        self.cap_refundable(rule, at);
        true
    }

    /// Forgets everything; whether there was anything to forget.
    fn reset<R: Counting<Body = B>>(&mut self, now: Time) -> bool {
        let something = self.alive::<R>(now).0.is_some();
        *self = Entry::default();
        something
    }

    fn settle<R: Counting<Body = B>>(
        &mut self,
        rule: &R,
        command: &Command<'_>,
    ) -> Result<bool, Overdrawn> {
        let Some(handle) = command.handle else { return Ok(false) };
        let open = |reservation: &Reservation| {
            reservation.is_of(handle) && command.now < reservation.until
        };
        let Some(place) = self.reservations.iter().position(open) else {
            return Ok(false);
        };
        let reservation = self.reservations.swap_remove(place);
        // A clock that was stepped back cannot have settled before it reserved.
        let (at, before) = self.open::<R>(command.now.max(reservation.at), command);
        self.cap_refundable(rule, at);
        let settled = self.correct(rule, at, &reservation, command.cost);
        match settled {
            Ok(true) => self.cap_refundable(rule, at),
            Ok(false) => self.restore(before),
            Err(Overdrawn) => {
                self.restore(before);
                self.reservations.push(reservation);
                return settled;
            }
        }
        self.lessen_notes(rule, &reservation, command.cost);
        settled
    }

    /// Holds the other reservations to what there would have been, had this one been right.
    ///
    /// Otherwise several of them could each give back the same water, which has drained but once.
    fn lessen_notes<R: Counting<Body = B>>(
        &mut self,
        rule: &R,
        settled: &Reservation,
        actual: u64,
    ) {
        let less = settled.estimate.saturating_sub(actual);
        for reservation in &mut self.reservations {
            let less = rule.overlap(less, settled.taken(), reservation.taken());
            reservation.least = reservation.least.saturating_sub(less);
        }
    }

    /// Takes what was reserved too little, or gives back what was too much.
    fn correct<R: Counting<Body = B>>(
        &mut self,
        rule: &R,
        at: Time,
        reservation: &Reservation,
        actual: u64,
    ) -> Result<bool, Overdrawn> {
        if actual > reservation.estimate {
            let more = actual.saturating_sub(reservation.estimate);
            return rule.charge_at(&mut self.body, at, more, reservation.taken());
        }
        let refundable = self.body().map_or(0, |body| reservation.refundable(rule, body, at));
        let less =
            reservation.estimate.saturating_sub(actual).min(reservation.least).min(refundable);
        Ok(less > 0 && rule.give_back(&mut self.body, at, less, reservation.taken()))
    }

    /// Gives back what is held under the handle, and forgets its reservation.
    fn release<R: Counting<Body = B>>(&mut self, rule: &R, command: &Command<'_>) -> bool {
        let Some(handle) = command.handle else { return false };
        self.reservations.retain(|reservation| !reservation.is_of(handle));
        if self.alive::<R>(command.now).0.is_none() {
            return false;
        }
        let released = rule.release(&mut self.body, command.now, handle);
        if released {
            self.drop_past_notes(command.now);
            self.cap_refundable(rule, command.now);
        }
        released
    }

    fn renew<R: Counting<Body = B>>(&mut self, rule: &R, command: &Command<'_>) -> bool {
        let Some(handle) = command.handle.filter(|_| self.alive::<R>(command.now).0.is_some())
        else {
            return false;
        };
        let renewed = rule.renew(&mut self.body, command.now, handle);
        if renewed {
            self.drop_past_notes(command.now);
        }
        renewed
    }
}

impl Reservation {
    fn new(handle: Handle<'_>, at: Time, command: &Command<'_>) -> Reservation {
        Reservation {
            handle: handle.into(),
            at,
            estimate: command.cost,
            least: 0,
            until: command.now.after(RESERVATION_TTL),
        }
    }

    fn taken(&self) -> Taken<'_> {
        Taken { cost: self.estimate, at: self.at, handle: &self.handle }
    }

    fn is_of(&self, handle: Handle<'_>) -> bool {
        *self.handle == *handle
    }

    fn refundable<R: Counting>(&self, rule: &R, body: &R::Body, at: Time) -> u64 {
        rule.refundable(body, at, self.taken())
    }
}
