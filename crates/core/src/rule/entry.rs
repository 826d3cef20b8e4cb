//! The state of one limit and one subject: the counts of the rule, and the open reservations.
//!
//! What the laws demand of every rule is here: the instant of a decision, that a denied check
//! changes nothing, and that time never gives back what it took.

mod settle;

use super::counting::Counting;
use super::footprint::{Footprint, ListSize};
use super::handle::Handle;
use super::reservation::{MAX_RESERVATIONS, Reservation};
use super::status::live;
use crate::act::Act;
use crate::error::Overdrawn;
use crate::time::Time;
use crate::walked::walk;

/// What a limit has to do once the policy has decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command {
    pub(crate) act: Act,
    pub(crate) now: Time,
    pub(crate) cost: u64,
    pub(crate) handle: Option<Handle>,
    /// Whether all limits of the policy allowed it. True for operations that cannot be denied.
    pub(crate) allowed: bool,
    /// Whether this limit counts denied attempts too.
    pub(crate) count_denied: bool,
    /// Whether it may be overdrawn, so that the state before must be kept for a rollback.
    pub(crate) can_fail: bool,
}

/// The state of one limit and one subject.
#[derive(Debug, Clone)]
pub(crate) struct Entry<S> {
    state: Option<S>,
    reservations: Vec<Reservation>,
}

impl<S> Default for Entry<S> {
    fn default() -> Entry<S> {
        Entry { state: None, reservations: Vec::new() }
    }
}

impl<S> Entry<S> {
    pub(super) fn new(state: Option<S>, reservations: Vec<Reservation>) -> Entry<S> {
        Entry { state, reservations }
    }

    pub(super) fn reservations(&self) -> &[Reservation] {
        &self.reservations
    }

    /// Returns the state if there are no reservations.
    pub(super) fn state_alone(&self) -> Option<&S> {
        self.state.as_ref().filter(|_| self.reservations.is_empty())
    }

    /// As [`state_alone`](Entry::state_alone), to change it.
    pub(super) fn state_alone_mut(&mut self) -> Option<&mut Option<S>> {
        self.reservations.is_empty().then_some(&mut self.state)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state.is_none() && self.reservations.is_empty()
    }

    pub(super) fn expires<R: Counting<State = S>>(&self) -> Time {
        let reservations = self.reservations.iter().map(|reservation| reservation.expires).max();
        self.state.as_ref().map(R::resets_at).max(reservations).unwrap_or(Time::EPOCH)
    }

    pub(super) fn state(&self) -> Option<&S> {
        self.state.as_ref()
    }

    /// Returns the memory of its lists.
    pub(super) fn footprint<R: Counting<State = S>>(&self) -> Footprint {
        self.measure::<R>(ListSize::bytes)
    }

    /// Returns how much more memory its lists may take after an operation.
    pub(super) fn max_growth<R: Counting<State = S>>(&self, act: Act) -> Footprint {
        self.measure::<R>(ListSize::max_growth).that_grows_by(act)
    }

    fn measure<R: Counting<State = S>>(&self, measure: fn(ListSize) -> usize) -> Footprint {
        let own = self.state.as_ref().and_then(R::list_size).map_or(0, measure);
        let (slots, leases) = if R::GIVES_LEASES { (0, own) } else { (own, 0) };
        let reservations = measure(ListSize::of_vec(&self.reservations));
        Footprint { slots, leases, reservations }
    }

    /// Drops what no longer counts, and the room for it.
    pub(super) fn trim<R: Counting<State = S>>(&mut self, now: Time) {
        self.drop_expired_reservations(now);
        if let Some(state) = &mut self.state {
            R::trim(state, now);
        }
        if self.state.as_ref().is_some_and(|state| R::resets_at(state) <= now) {
            self.state = None;
        }
    }

    fn live<R: Counting<State = S>>(&self, now: Time) -> (Option<&S>, Time) {
        live::<R>(self.state(), now)
    }

    /// Returns whether an operation finds what it acts on under the handle: a reservation or a lease.
    /// `None` if there is never any for this rule.
    pub(super) fn finds<R: Counting<State = S>>(
        &self,
        act: Act,
        now: Time,
        handle: Handle,
    ) -> Option<bool> {
        let holds = || self.state().is_some_and(|state| R::holds(state, now, handle));
        match act {
            Act::Settle => Some(self.open_reservation(now, handle).is_some()),
            Act::Release | Act::Renew => R::GIVES_LEASES.then(holds),
            _ => None,
        }
    }

    /// Returns the place of the open reservation with this handle.
    fn open_reservation(&self, now: Time, handle: Handle) -> Option<usize> {
        let is_open =
            |reservation: &Reservation| reservation.handle == handle && now < reservation.expires;
        walk(self.reservations.len());
        self.reservations.iter().position(is_open)
    }

    /// Executes a command. Returns whether it took or gave anything; on an error nothing changes.
    pub(super) fn apply<R: Counting<State = S>>(
        &mut self,
        rule: &R,
        command: &Command,
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

    /// Prepares a change at `now`: a state that has reset is moved out. Returns the instant of the
    /// decision, and what [`roll_back`](Entry::roll_back) needs if the change fails.
    fn prepare<R: Counting<State = S>>(
        &mut self,
        now: Time,
        command: &Command,
    ) -> (Time, Entry<S>) {
        let (live, at) = self.live::<R>(now);
        let past = if live.is_some() { None } else { self.state.take() };
        walk(self.reservations.len());
        let reservations = if command.can_fail { self.reservations.clone() } else { Vec::new() };
        self.drop_expired_reservations(command.now);
        (at, Entry { state: past, reservations })
    }

    /// Restores what [`prepare`](Entry::prepare) moved out.
    fn roll_back(&mut self, before: Entry<S>) {
        self.state = self.state.take().or(before.state);
        self.reservations = before.reservations;
    }

    fn drop_expired_reservations(&mut self, now: Time) {
        walk(self.reservations.len());
        self.reservations.retain(|reservation| now < reservation.expires);
        if let Some(capacity) = ListSize::of_vec(&self.reservations).shrunk() {
            self.reservations.shrink_to(capacity);
        }
    }

    /// Makes room for another reservation. The oldest then stands as charged.
    fn evict_oldest_reservation(&mut self) {
        walk(self.reservations.len());
        let oldest =
            self.reservations.iter().enumerate().min_by_key(|(_, reservation)| reservation.at);
        if let Some((index, _)) = oldest.filter(|_| self.reservations.len() >= MAX_RESERVATIONS) {
            self.reservations.remove(index);
        }
    }

    /// Lowers the `max_refund` of every reservation to what is refundable at `at`.
    ///
    /// Between two operations what is used only decreases. Doing this before each taking and after
    /// each refund therefore finds the least that was refundable since the reservation, which is
    /// exactly what settling it may refund.
    fn cap_refundable<R: Counting<State = S>>(&mut self, rule: &R, at: Time) {
        rule.cap_refundable(self.state.as_ref(), at, &mut self.reservations);
    }

    fn take<R: Counting<State = S>>(
        &mut self,
        rule: &R,
        command: &Command,
    ) -> Result<bool, Overdrawn> {
        if !(command.allowed || command.count_denied) {
            return Ok(false);
        }
        if command.cost == 0 {
            self.reserve(rule, self.live::<R>(command.now).1, command);
            return Ok(false);
        }
        let (at, before) = self.prepare::<R>(command.now, command);
        self.cap_refundable(rule, at);
        // A denied attempt that counts holds nothing: there is no lease that could be renewed or released.
        let handle = command.handle.filter(|_| command.allowed);
        if let Err(overdrawn) = rule.take(&mut self.state, at, command.cost, handle) {
            self.roll_back(before);
            return Err(overdrawn);
        }
        self.reserve(rule, at, command);
        Ok(true)
    }

    /// Opens a reservation, also of cost 0: it may be settled with more.
    fn reserve<R: Counting<State = S>>(&mut self, rule: &R, at: Time, command: &Command) {
        if let (Act::Reserve, true, Some(handle)) = (command.act, command.allowed, command.handle) {
            self.drop_expired_reservations(command.now);
            walk(self.reservations.len());
            self.reservations.retain(|reservation| reservation.handle != handle);
            self.evict_oldest_reservation();
            let mut reservation = Reservation::new(handle, at, command.cost, command.now);
            reservation.max_refund =
                self.state().map_or(0, |state| reservation.refundable(rule, state, at));
            self.reservations.push(reservation);
        }
    }

    fn refund<R: Counting<State = S>>(&mut self, rule: &R, command: &Command) -> bool {
        if command.cost == 0 || self.live::<R>(command.now).0.is_none() {
            return false;
        }
        let (at, _) = self.prepare::<R>(command.now, command);
        self.cap_refundable(rule, at);
        rule.refund(&mut self.state, at, command.cost);
        self.cap_refundable(rule, at);
        true
    }

    /// Forgets everything. Returns whether a live state was forgotten.
    fn reset<R: Counting<State = S>>(&mut self, now: Time) -> bool {
        let was_live = self.live::<R>(now).0.is_some();
        *self = Entry::default();
        was_live
    }

    /// Releases the leases under the handle, and forgets its reservation.
    fn release<R: Counting<State = S>>(&mut self, rule: &R, command: &Command) -> bool {
        let Some(handle) = command.handle else { return false };
        walk(self.reservations.len());
        self.reservations.retain(|reservation| reservation.handle != handle);
        if self.live::<R>(command.now).0.is_none() {
            return false;
        }
        let released = rule.release(&mut self.state, command.now, handle);
        if released {
            self.drop_expired_reservations(command.now);
            self.cap_refundable(rule, command.now);
        }
        released
    }

    fn renew<R: Counting<State = S>>(&mut self, rule: &R, command: &Command) -> bool {
        let Some(handle) = command.handle.filter(|_| self.live::<R>(command.now).0.is_some())
        else {
            return false;
        };
        let renewed = rule.renew(&mut self.state, command.now, handle);
        if renewed {
            self.drop_expired_reservations(command.now);
        }
        renewed
    }
}
