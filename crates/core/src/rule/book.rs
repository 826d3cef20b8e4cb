//! One limit's state of one subject: what the rule counts, and the reservations still open.
//!
//! What the laws say of every rule alike stands here once: the instant of a decision, that a
//! denied check changes nothing, that the past is not given back, and how a reservation is settled.

use super::{Counting, Handle, Kept, Taken};
use crate::act::Act;
use crate::decision::Answer;
use crate::error::Overdrawn;
use crate::time::{Span, Time};

/// How long a reservation can be settled. It is a debt of memory, so it has an end; the answer of a
/// model or a download is over by then.
pub const RESERVED: Span = Span::from_micros(3_600_000_000);

/// How many reservations one key can have open under one limit: reserving nothing is free, and must
/// not fill the memory.
pub const MOST_RESERVED: usize = 1024;

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
) -> Answer {
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
) -> Answer {
    let retry_after = match body {
        _ if cost > rule.capacity() => None,
        Some(body) if room.is_none_or(|room| cost > room) => {
            Some(rule.fits_at(body, at, cost).since(now))
        }
        _ => Some(Span::ZERO),
    };
    Answer {
        limit: Some(rule.capacity()),
        remaining: Some(room.unwrap_or(0)),
        retry_after,
        reset_after: body.map_or(Span::ZERO, |body| R::resets(body).since(now)),
    }
}

/// What a limit is told to do, once the policy has decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
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
pub(super) struct Note {
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
pub(crate) struct Book<B> {
    body: Option<B>,
    notes: Vec<Note>,
}

impl<B> Default for Book<B> {
    fn default() -> Book<B> {
        Book { body: None, notes: Vec::new() }
    }
}

impl<B: Kept> Book<B> {
    pub(super) fn with_notes(body: Option<B>, notes: Vec<Note>) -> Book<B> {
        Book { body, notes }
    }

    pub(super) fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The body, if there are no reservations beside it.
    pub(crate) fn body_alone(&self) -> Option<&B> {
        self.body.as_ref().filter(|_| self.notes.is_empty())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.body.is_none() && self.notes.is_empty()
    }

    pub(crate) fn expires<R: Counting<Body = B>>(&self) -> Time {
        let notes = self.notes.iter().map(|note| note.until).max();
        self.body.as_ref().map(R::resets).max(notes).unwrap_or(Time::EPOCH)
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
        order: &Order<'_>,
    ) -> Result<bool, Overdrawn> {
        match order.act {
            Act::Peek => Ok(false),
            Act::Check | Act::Reserve | Act::Charge => self.take(rule, order),
            Act::Refund => Ok(self.refund(rule, order)),
            Act::Reset => Ok(self.reset::<R>(order.now)),
            Act::Settle => self.settle(rule, order),
            Act::Release => Ok(self.release(rule, order)),
            Act::Renew => Ok(self.renew(rule, order)),
        }
    }

    /// Makes ready for a change at `now`: what is past is set aside. Answers the instant of the
    /// decision, and what [`restore`](Book::restore) needs should the change fail.
    fn open<R: Counting<Body = B>>(&mut self, now: Time, order: &Order<'_>) -> (Time, Book<B>) {
        let (alive, at) = self.alive::<R>(now);
        let past = if alive.is_some() { None } else { self.body.take() };
        let notes = if order.can_fail { self.notes.clone() } else { Vec::new() };
        self.drop_past_notes(order.now);
        (at, Book { body: past, notes })
    }

    fn drop_past_notes(&mut self, now: Time) {
        self.notes.retain(|note| now < note.until);
    }

    /// Makes room for another reservation. The oldest then stands as charged.
    fn drop_oldest_note(&mut self) {
        let oldest = self.notes.iter().enumerate().min_by_key(|(_, note)| note.at);
        if let Some((place, _)) = oldest.filter(|_| self.notes.len() >= MOST_RESERVED) {
            self.notes.remove(place);
        }
    }

    /// Puts back what [`open`](Book::open) set aside.
    fn restore(&mut self, before: Book<B>) {
        self.body = self.body.take().or(before.body);
        self.notes = before.notes;
    }

    /// Holds every reservation to what is still there of it.
    ///
    /// Between two operations what is used only sinks, so doing this before each taking and after
    /// each giving finds the least there ever was since the reservation: exactly what settling it
    /// may give back.
    fn hold_notes<R: Counting<Body = B>>(&mut self, rule: &R, at: Time) {
        let body = self.body.as_ref();
        for note in &mut self.notes {
            let still = body.map_or(0, |body| note.still(rule, body, at));
            note.least = note.least.min(still);
        }
    }

    fn take<R: Counting<Body = B>>(
        &mut self,
        rule: &R,
        order: &Order<'_>,
    ) -> Result<bool, Overdrawn> {
        if !(order.allowed || order.count_denied) {
            return Ok(false);
        }
        if order.cost == 0 {
            self.reserve(rule, self.alive::<R>(order.now).1, order);
            return Ok(false);
        }
        let (at, before) = self.open::<R>(order.now, order);
        self.hold_notes(rule, at);
        if let Err(overdrawn) = rule.take(&mut self.body, at, order.cost, order.handle) {
            self.restore(before);
            return Err(overdrawn);
        }
        self.reserve(rule, at, order);
        Ok(true)
    }

    /// Notes what was reserved, also if that is nothing: it may be settled with more.
    fn reserve<R: Counting<Body = B>>(&mut self, rule: &R, at: Time, order: &Order<'_>) {
        if let (Act::Reserve, true, Some(handle)) = (order.act, order.allowed, order.handle) {
            self.drop_past_notes(order.now);
            self.notes.retain(|note| !note.is_of(handle));
            self.drop_oldest_note();
            let mut note = Note::new(handle, at, order);
            note.least = self.body().map_or(0, |body| note.still(rule, body, at));
            self.notes.push(note);
        }
    }

    fn refund<R: Counting<Body = B>>(&mut self, rule: &R, order: &Order<'_>) -> bool {
        if order.cost == 0 || self.alive::<R>(order.now).0.is_none() {
            return false;
        }
        let (at, _) = self.open::<R>(order.now, order);
        self.hold_notes(rule, at);
        rule.give(&mut self.body, at, order.cost);
        self.hold_notes(rule, at);
        true
    }

    /// Forgets everything; whether there was anything to forget.
    fn reset<R: Counting<Body = B>>(&mut self, now: Time) -> bool {
        let something = self.alive::<R>(now).0.is_some();
        *self = Book::default();
        something
    }

    fn settle<R: Counting<Body = B>>(
        &mut self,
        rule: &R,
        order: &Order<'_>,
    ) -> Result<bool, Overdrawn> {
        let Some(handle) = order.handle else { return Ok(false) };
        let open = |note: &Note| note.is_of(handle) && order.now < note.until;
        let Some(place) = self.notes.iter().position(open) else {
            return Ok(false);
        };
        let note = self.notes.swap_remove(place);
        // A clock that was stepped back cannot have settled before it reserved.
        let (at, before) = self.open::<R>(order.now.max(note.at), order);
        self.hold_notes(rule, at);
        let settled = self.correct(rule, at, &note, order.cost);
        match settled {
            Ok(true) => self.hold_notes(rule, at),
            Ok(false) => self.restore(before),
            Err(Overdrawn) => {
                self.restore(before);
                self.notes.push(note);
                return settled;
            }
        }
        self.lessen_notes(rule, &note, order.cost);
        settled
    }

    /// Holds the other reservations to what there would have been, had this one been right.
    ///
    /// Otherwise several of them could each give back the same water, which has drained but once.
    fn lessen_notes<R: Counting<Body = B>>(&mut self, rule: &R, settled: &Note, actual: u64) {
        let less = settled.estimate.saturating_sub(actual);
        for note in &mut self.notes {
            let less = rule.lessens(less, settled.taken(), note.taken());
            note.least = note.least.saturating_sub(less);
        }
    }

    /// Takes what was reserved too little, or gives back what was too much.
    fn correct<R: Counting<Body = B>>(
        &mut self,
        rule: &R,
        at: Time,
        note: &Note,
        actual: u64,
    ) -> Result<bool, Overdrawn> {
        if actual > note.estimate {
            let more = actual.saturating_sub(note.estimate);
            return rule.take_late(&mut self.body, at, more, note.taken());
        }
        let still = self.body().map_or(0, |body| note.still(rule, body, at));
        let less = note.estimate.saturating_sub(actual).min(note.least).min(still);
        Ok(less > 0 && rule.give_back(&mut self.body, at, less, note.taken()))
    }

    /// Gives back what is held under the handle, and forgets its reservation.
    fn release<R: Counting<Body = B>>(&mut self, rule: &R, order: &Order<'_>) -> bool {
        let Some(handle) = order.handle else { return false };
        self.notes.retain(|note| !note.is_of(handle));
        if self.alive::<R>(order.now).0.is_none() {
            return false;
        }
        let released = rule.release(&mut self.body, order.now, handle);
        if released {
            self.drop_past_notes(order.now);
            self.hold_notes(rule, order.now);
        }
        released
    }

    fn renew<R: Counting<Body = B>>(&mut self, rule: &R, order: &Order<'_>) -> bool {
        let Some(handle) = order.handle.filter(|_| self.alive::<R>(order.now).0.is_some()) else {
            return false;
        };
        let renewed = rule.renew(&mut self.body, order.now, handle);
        if renewed {
            self.drop_past_notes(order.now);
        }
        renewed
    }
}

impl Note {
    fn new(handle: Handle<'_>, at: Time, order: &Order<'_>) -> Note {
        Note {
            handle: handle.into(),
            at,
            estimate: order.cost,
            least: 0,
            until: order.now.after(RESERVED),
        }
    }

    fn taken(&self) -> Taken<'_> {
        Taken { cost: self.estimate, at: self.at, handle: &self.handle }
    }

    fn is_of(&self, handle: Handle<'_>) -> bool {
        *self.handle == *handle
    }

    fn still<R: Counting>(&self, rule: &R, body: &R::Body, at: Time) -> u64 {
        rule.still(body, at, self.taken())
    }
}
