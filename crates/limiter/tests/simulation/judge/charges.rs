//! What a node admitted before the store knew of it is charged to the store, once.

use std::collections::{BTreeMap, HashMap};

use tollgate::{Act, Source};

use super::{Verdict, ensure};
use crate::trace::{Booking, Call, CallResult, Run};

/// The amounts of one key and node.
#[derive(Default)]
struct Account<'r> {
    /// What was charged, under each id.
    charged: HashMap<&'r [u8], u64>,
    charged_without_id: u64,
    /// What the node admitted by itself while the store answered, and what of it still counts at the end.
    admitted: u64,
    still_counts: u64,
    /// What else may have been charged: what was admitted because the store failed, what callers charged,
    /// and checks whose answer is not known.
    other: u64,
}

pub(crate) fn judge(run: &Run) -> Verdict {
    let is_reset = run.plan.calls.resets > 0;
    for ((node, key), account) in &accounts(run) {
        let charged = account.charged.values().sum::<u64>() + account.charged_without_id;
        let (admitted, other) = (account.admitted, account.other);
        let name = String::from_utf8_lossy(key);
        ensure!(
            charged <= admitted + other,
            "node {node} charged {charged} to {name}, not {admitted} and at most {other}"
        );
        // A reset forgets what is not written yet, too.
        let least = match (is_reset, run.plan.is_calm) {
            (true, _) => 0,
            (_, true) => admitted,
            (_, false) => account.still_counts,
        };
        ensure!(
            charged >= least,
            "node {node} charged {charged} to {name}, and admitted {least} that count"
        );
    }
    Ok(())
}

fn accounts(run: &Run) -> BTreeMap<(usize, &[u8]), Account<'_>> {
    let mut accounts: BTreeMap<_, Account<'_>> = BTreeMap::new();
    let booked = run.bookings.iter().take_while(|booking| booking.at <= run.end.at);
    for booking in booked.filter(|booking| booking.op.act == Act::Charge) {
        accounts.entry((booking.node, booking.op.key.as_slice())).or_default().charge(booking);
    }
    for call in &run.calls {
        accounts.entry((call.node, call.op.key.as_slice())).or_default().add(run, call);
    }
    accounts
}

impl<'r> Account<'r> {
    fn charge(&mut self, booking: &'r Booking) {
        let cost = booking.op.cost();
        match &booking.op.id {
            Some(id) => *self.charged.entry(id).or_default() = cost,
            None => self.charged_without_id += cost,
        }
    }

    fn add(&mut self, run: &Run, call: &Call) {
        let cost = call.op.cost();
        let is_written = call.decision().is_some_and(|of| of.source == Source::Local);
        match (call.op.act, &call.result) {
            (Act::Check, _) if is_written && call.admitted_by_node() => {
                self.admitted += cost;
                self.still_counts += if run.still_counts(call.ended) { cost } else { 0 };
            }
            (Act::Check, CallResult::Decided(of)) if of.degraded && of.allowed => {
                self.other += cost;
            }
            (Act::Charge, _) | (Act::Check, CallResult::Cancelled | CallResult::Hung) => {
                self.other += cost;
            }
            _ => {}
        }
    }
}
