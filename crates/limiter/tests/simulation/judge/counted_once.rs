//! No check is counted twice: not by the store and by a charge afterwards, and not by two charges.

use std::collections::{BTreeMap, HashMap};

use tollgate::Act;

use super::{Verdict, ensure};
use crate::plan::Kind;
use crate::trace::{Booking, Call, CallResult, Run};

/// The amounts of one key and node.
#[derive(Default)]
struct Account<'r> {
    /// What the store took under each id, and without one.
    under_ids: HashMap<&'r [u8], u64>,
    without_id: u64,
    /// What callers asked for, and were not denied by the store.
    asked: u64,
}

pub(crate) fn judge(run: &Run) -> Verdict {
    // The others take quota ahead, or write it later.
    if run.plan.mode.kind != Kind::Strict {
        return Ok(());
    }
    let mut accounts: BTreeMap<_, Account<'_>> = BTreeMap::new();
    for booking in &run.bookings {
        let account = accounts.entry((booking.node, booking.op.key.as_slice())).or_default();
        account.book(booking);
    }
    for call in run.all_calls() {
        accounts.entry((call.node, call.op.key.as_slice())).or_default().ask(call);
    }
    for ((node, key), Account { under_ids, without_id, asked }) in &accounts {
        let taken = under_ids.values().sum::<u64>() + without_id;
        let name = String::from_utf8_lossy(key);
        ensure!(taken <= *asked, "node {node} took {taken} of {name}, where {asked} were asked");
    }
    Ok(())
}

impl<'r> Account<'r> {
    fn book(&mut self, booking: &'r Booking) {
        let Booking { op, allowed, .. } = booking;
        let takes = op.act == Act::Charge || (op.act == Act::Check && *allowed);
        match &op.id {
            _ if !takes => {}
            Some(id) => *self.under_ids.entry(id).or_default() = op.cost(),
            None => self.without_id += op.cost(),
        }
    }

    fn ask(&mut self, call: &Call) {
        let is_denied = match &call.result {
            CallResult::Decided(decision) => !decision.allowed && !decision.degraded,
            _ => false,
        };
        if matches!(call.op.act, Act::Check | Act::Charge) && !is_denied {
            self.asked += call.op.cost();
        }
    }
}
