//! Held (concurrency): leases, each ending when it is released or its time is over.

use crate::counting::{Change, Counting, Event, Id, MAX_COUNT};

pub(crate) struct Held {
    max: u64,
    ttl: u64,
    /// In the order of their ends, and of equal ends that in which they were taken or renewed; each with a count
    /// above 0.
    leases: Vec<Lease>,
}

#[derive(Clone, Copy)]
struct Lease {
    id: Option<Id>,
    count: u64,
    ends: u64,
}

impl Held {
    pub fn new(max: u64, ttl: u64) -> Held {
        Held { max, ttl, leases: Vec::new() }
    }

    fn alive(&self, t: u64) -> impl Iterator<Item = &Lease> {
        self.leases.iter().filter(move |lease| t < lease.ends)
    }

    fn used(&self, t: u64) -> u64 {
        self.alive(t).map(|lease| lease.count).sum()
    }

    fn change(&self, leases: &mut Vec<Lease>, event: &Event) -> bool {
        match event.change {
            Change::Take { cost, id } => take(leases, id, cost, event.when + self.ttl),
            Change::TakeLate { cost, at, id, .. } => {
                let ends = at + self.ttl;
                grow(leases, id, cost) || event.when < ends && take(leases, Some(id), cost, ends)
            }
            Change::Refund { cost } => cut(leases, cost, |_| true),
            Change::GiveBack { cost, id, .. } => cut(leases, cost, |lease| lease.id == Some(id)),
            Change::Release { id } => cut(leases, u64::MAX, |lease| lease.id == Some(id)),
            Change::Renew { id } => prolong(leases, id, event.when + self.ttl),
        }
    }
}

fn take(leases: &mut Vec<Lease>, id: Option<Id>, count: u64, ends: u64) -> bool {
    insert(leases, Lease { id, count, ends });
    count > 0
}

fn insert(leases: &mut Vec<Lease>, lease: Lease) {
    leases.push(lease);
    leases.sort_by_key(|lease| lease.ends);
}

/// Adds to the lease with this id that ends last.
fn grow(leases: &mut [Lease], id: Id, cost: u64) -> bool {
    let newest = leases.iter_mut().rev().find(|lease| lease.id == Some(id));
    newest.map(|lease| lease.count += cost).is_some()
}

/// Ends up to `cost` of the chosen leases, the last to end first.
fn cut(leases: &mut Vec<Lease>, mut cost: u64, chosen: impl Fn(&Lease) -> bool) -> bool {
    let before = cost;
    for lease in leases.iter_mut().rev().filter(|lease| chosen(lease)) {
        let ended = lease.count.min(cost);
        lease.count -= ended;
        cost -= ended;
    }
    leases.retain(|lease| lease.count > 0);
    cost < before
}

fn prolong(leases: &mut Vec<Lease>, id: Id, ends: u64) -> bool {
    let (renewed, others) =
        leases.iter().copied().partition(|lease| lease.id == Some(id) && lease.ends < ends);
    *leases = others;
    let changed = !Vec::is_empty(&renewed);
    for lease in renewed {
        insert(leases, Lease { ends, ..lease });
    }
    changed
}

impl Counting for Held {
    fn instant(&self) -> u64 {
        0
    }

    fn fits(&self, t: u64, cost: u64) -> bool {
        self.used(t) + cost <= self.max
    }

    fn empty(&self, t: u64) -> bool {
        self.alive(t).next().is_none()
    }

    fn overflows(&self, t: u64) -> bool {
        self.used(t) > MAX_COUNT
    }

    fn held(&self, t: u64, id: Id) -> Option<u64> {
        let of_id = self.alive(t).filter(|lease| lease.id == Some(id));
        Some(of_id.map(|lease| lease.count).sum())
    }

    fn refundable(&self, t: u64, _at: u64, id: Id) -> u64 {
        self.held(t, id).unwrap_or(0)
    }

    fn apply(&mut self, event: &Event) -> bool {
        // A write removes ended leases, so that a clock that steps back does not find them.
        let mut leases = self.alive(event.when).copied().collect();
        let changed = self.change(&mut leases, event);
        if changed {
            self.leases = leases;
        }
        changed
    }
}
