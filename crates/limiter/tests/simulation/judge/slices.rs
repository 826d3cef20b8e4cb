//! A node spends no more than it has taken ahead, and gives back what it has not spent.

use std::collections::{BTreeMap, HashMap};

use tollgate::{Act, Source};

use super::{Verdict, ensure};
use crate::trace::{Booking, Run};

/// Something that concerns the slices of one key and node.
#[derive(Clone, Copy)]
enum Event<'r> {
    Booked(&'r Booking),
    Spent(u64),
}

/// What happened, each with its instant.
type Events<'r> = Vec<(u64, Event<'r>)>;

/// What the store has taken for a slice, as far as it was not given back.
struct Slice {
    at: u64,
    charged: u64,
    is_settled: bool,
}

/// The slices of one key and node.
#[derive(Default)]
struct Account<'r> {
    slices: HashMap<&'r [u8], Slice>,
    taken: u64,
    spent: u64,
}

pub(crate) fn judge(run: &Run) -> Verdict {
    for ((node, key), events) in events(run) {
        let name = String::from_utf8_lossy(key);
        judge_events(run, &events).map_err(|why| format!("node {node}, {name}: {why}"))?;
    }
    Ok(())
}

fn events(run: &Run) -> BTreeMap<(usize, &[u8]), Events<'_>> {
    let mut events: BTreeMap<_, Events<'_>> = BTreeMap::new();
    for booking in &run.bookings {
        let events = events.entry((booking.node, booking.op.key.as_slice())).or_default();
        events.push((booking.at, Event::Booked(booking)));
    }
    for call in run.all_calls().filter(|call| call.admitted_by_node()) {
        if call.decision().is_some_and(|of| of.source == Source::Prefetch) {
            let events = events.entry((call.node, call.op.key.as_slice())).or_default();
            events.push((call.ended, Event::Spent(call.op.cost())));
        }
    }
    // At the same instant, the store comes first.
    let order = |(at, event): &(u64, Event<'_>)| (*at, matches!(event, Event::Spent(_)));
    events.values_mut().for_each(|events| events.sort_by_key(order));
    events
}

fn judge_events(run: &Run, events: &[(u64, Event<'_>)]) -> Verdict {
    let mut account = Account::default();
    for (at, event) in events {
        match event {
            Event::Booked(booking) => account.book(booking),
            Event::Spent(cost) => account.spent += cost,
        }
        let (spent, taken) = (account.spent, account.taken);
        ensure!(spent <= taken, "{spent} spent until {at}, and {taken} taken");
    }
    let (spent, charged) = (account.spent, account.charged());
    ensure!(spent <= charged, "{spent} spent, and {charged} charged in the end");
    let is_lost = !run.forgets.is_empty() || run.plan.calls.resets > 0;
    if !is_lost {
        account.judge_unspent(run)?;
    }
    Ok(())
}

impl<'r> Account<'r> {
    fn book(&mut self, booking: &'r Booking) {
        let Some(id) = &booking.op.id else { return };
        match booking.op.act {
            Act::Reserve if booking.taken > 0 => {
                let (at, charged) = (booking.at, booking.taken);
                self.taken += charged;
                self.slices.insert(id, Slice { at, charged, is_settled: false });
            }
            Act::Settle if booking.allowed => {
                if let Some(slice) = self.slices.get_mut(id.as_slice()) {
                    (slice.charged, slice.is_settled) = (booking.op.cost(), true);
                }
            }
            _ => {}
        }
    }

    fn charged(&self) -> u64 {
        self.slices.values().map(|slice| slice.charged).sum()
    }

    /// What is not spent is given back while it still counts. Once everything is settled, what was spent is
    /// all that is charged.
    fn judge_unspent(&self, run: &Run) -> Verdict {
        let open = self.slices.values().filter(|slice| !slice.is_settled);
        // With faults, a request may arrive when the node has given it up.
        let is_certain = run.plan.faults.is_empty();
        let is_counted = |slice: &Slice| slice.at < run.end.at && run.still_counts(slice.at);
        let kept = open.clone().filter(|slice| is_counted(slice)).count();
        ensure!(kept == 0 || !is_certain, "{kept} slices are not settled");
        let (spent, charged) = (self.spent, self.charged());
        let is_settled = open.count() == 0;
        ensure!(!is_settled || spent == charged, "{spent} spent, and {charged} kept");
        Ok(())
    }
}
