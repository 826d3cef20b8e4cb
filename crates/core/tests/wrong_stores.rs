//! The contract suite detects stores that are wrong about the costs and statuses of single limits.

#![allow(clippy::unwrap_used, reason = "a test")]

use tollgate_core::contract::Suite;
use tollgate_core::{
    Act, Apply, Decision, Item, LimitStatuses, Op, PlainStore, Store, StoreError, Time,
};

/// A plain store with a mistake.
struct WrongStore {
    inner: PlainStore,
    apply: fn(&PlainStore, &Op<'_>, Time) -> Result<Decision, StoreError>,
}

impl Store for WrongStore {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        for (op, result) in ops.iter().zip(out) {
            *result = (self.apply)(&self.inner, op, at.unwrap());
        }
        Apply::Ready
    }
}

fn wrong(apply: fn(&PlainStore, &Op<'_>, Time) -> Result<Decision, StoreError>) -> WrongStore {
    WrongStore { inner: PlainStore::default(), apply }
}

/// Returns the statuses that the store reports, to be reported otherwise.
fn reported(
    store: &PlainStore,
    op: &Op<'_>,
    at: Time,
) -> Result<(Decision, LimitStatuses), StoreError> {
    let statuses = LimitStatuses::default();
    let mut asking = *op;
    asking.statuses = Some(&statuses);
    let decision = store.apply_one(&asking, at)?;
    Ok((decision, statuses))
}

#[test]
#[should_panic(expected = "a limit that occurs twice has two states")]
fn one_cost_for_all_limits() {
    let store = wrong(|store, op, at| {
        let cost = op.items.first().map_or(0, |item| item.cost);
        let items: Vec<Item<'_>> = op.items.iter().map(|item| Item { cost, ..*item }).collect();
        store.apply_one(&op.with_items(&items), at)
    });
    Suite::new(&store).a_limit_that_occurs_twice_has_two_states();
}

/// Each item is an operation of its own, at position 0.
#[test]
#[should_panic(expected = "a limit that occurs twice has two states")]
fn one_state_for_equal_limits() {
    let store = wrong(|store, op, at| {
        let statuses = LimitStatuses::default();
        let (mut all, mut each) = (None, Vec::new());
        for item in op.items {
            let mut alone = op.with_items(std::slice::from_ref(item));
            alone.statuses = Some(&statuses);
            let decision = store.apply_one(&alone, at)?;
            each.extend(statuses.to_vec());
            all = all.filter(|all: &Decision| !all.allowed).or(Some(decision));
        }
        op.report(each);
        all.ok_or_else(StoreError::unanswered)
    });
    Suite::new(&store).a_limit_that_occurs_twice_has_two_states();
}

#[test]
#[should_panic(expected = "each limit has its status (several limits)")]
fn statuses_in_another_order() {
    let store = wrong(|store, op, at| {
        let (decision, statuses) = reported(store, op, at)?;
        op.report(statuses.to_vec().into_iter().rev());
        Ok(decision)
    });
    Suite::new(&store).each_limit_has_its_status();
}

#[test]
#[should_panic(expected = "each limit has its status (gcra)")]
fn no_statuses() {
    let store = wrong(|store, op, at| Ok(reported(store, op, at)?.0));
    Suite::new(&store).each_limit_has_its_status();
}

#[test]
#[should_panic(expected = "was not remembered")]
fn statuses_of_a_remembered_operation() {
    let store = wrong(|store, op, at| {
        let (decision, statuses) = reported(store, op, at)?;
        let peek = op.with_act(Act::Peek).without_id();
        let now = reported(store, &peek, at)?.1.to_vec();
        let statuses = statuses.to_vec();
        op.report(if statuses.is_empty() { now } else { statuses });
        Ok(decision)
    });
    Suite::new(&store).ids_make_a_retry_safe();
}
