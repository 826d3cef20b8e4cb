//! The laws of ALGORITHMS.md as a test suite that any store can run.
//!
//! ```
//! use tollgate_core::PlainStore;
//! use tollgate_core::contract::Suite;
//!
//! let store = PlainStore::default();
//! Suite::new(&store).cases(4).run_all();
//! ```
//!
//! If a law does not hold, the suite panics with the shortest case that breaks it. Every case uses
//! its own keys and nothing is deleted, so pass a store that the suite may fill. All times are
//! passed in; a store that expires its states by another clock must not drop them while the suite
//! runs.

#![allow(
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test suite: a law that does not hold is a panic"
)]

mod case;
mod follow_ups;
mod generate;
mod idempotency;
mod key;
mod laws;
mod queue;
mod remembered_leases;
mod settle;
mod statuses;
mod vectors;

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

use crate::{Apply, Decision, Op, Source, Store, StoreError, Time};
pub use generate::{ALGORITHMS, Step, limit_line, steps, steps_for};
use key::TestKey;

/// Runs a pending future of the store to completion.
type BlockOn<'s> = dyn Fn(Pin<Box<dyn Future<Output = ()> + Send + '_>>) + 's;

/// The test suite for one store.
pub struct Suite<'s> {
    store: &'s dyn Store,
    block_on: Box<BlockOn<'s>>,
    cases: u32,
    seed: u64,
    next_key: AtomicU64,
}

impl<'s> Suite<'s> {
    /// Creates a suite for a store that returns [`Apply::Ready`].
    #[must_use]
    pub fn new(store: &'s dyn Store) -> Suite<'s> {
        Suite {
            store,
            block_on: Box::new(|_| {
                panic!("the store returned Apply::Pending: set Suite::block_on")
            }),
            cases: 64,
            seed: 1,
            next_key: AtomicU64::new(0),
        }
    }

    /// Sets how to wait for a store that returns [`Apply::Pending`], such as `runtime.block_on`.
    #[must_use]
    pub fn block_on(
        mut self,
        block_on: impl Fn(Pin<Box<dyn Future<Output = ()> + Send + '_>>) + 's,
    ) -> Suite<'s> {
        self.block_on = Box::new(block_on);
        self
    }

    /// Sets the number of random cases of each law, for each algorithm. Default: 64.
    #[must_use]
    pub fn cases(mut self, cases: u32) -> Suite<'s> {
        self.cases = cases;
        self
    }

    /// Sets the seed of the random cases. The same seed gives the same cases, so that a failure can
    /// be reproduced. Default: 1.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Suite<'s> {
        self.seed = seed;
        self
    }

    /// Runs all tests: the laws, ids and reservations, and the known traces.
    pub fn run_all(&self) {
        self.law_1_deny_is_free();
        self.law_1_count_denied_counts_every_attempt();
        self.law_1_count_denied_counts_what_others_denied();
        self.law_2_all_or_nothing();
        self.law_3_remaining_is_exact();
        self.law_4_retry_after_is_enough_and_no_more();
        self.law_5_reset_after_means_forgotten();
        self.law_6_time_never_gives_back();
        self.law_7_no_drift();
        self.law_8_idle_earns_no_more_than_full();
        self.each_limit_has_its_status();
        self.a_limit_that_occurs_twice_has_two_states();
        self.settling_is_never_more_generous();
        self.settling_is_exact_over_other_cost();
        self.reservations_that_overlap_give_back_all();
        self.ids_make_a_retry_safe();
        self.settle_and_reset_are_done_once();
        self.release_and_reset_forget_ids();
        self.what_finds_nothing_changes_nothing();
        self.a_lease_is_held_until_it_ends();
        self.a_refund_ends_the_lease_that_would_end_last();
        self.a_lease_is_renewed_in_all_limits_or_in_none();
        self.a_lease_that_has_ended_is_not_remembered();
        self.a_renewed_lease_is_remembered();
        self.a_denied_attempt_holds_nothing();
        self.a_reservation_is_settled_once();
        self.a_batch_is_its_operations_in_order();
        self.no_key_sees_another();
        self.known_answers();
    }

    /// Tests a law on random cases; panics with the smallest that breaks it.
    fn check_law<T: Debug>(
        &self,
        law: &str,
        cases: &impl Strategy<Value = T>,
        test: impl Fn(T) -> Result<(), TestCaseError>,
    ) {
        let config = Config {
            cases: self.cases,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(self.seed),
            ..Config::default()
        };
        let result = TestRunner::new(config).run(cases, test);
        if let Err(broken) = result {
            panic!("{law}: {broken}");
        }
    }

    /// Returns a key that was not used before.
    fn new_key(&self) -> TestKey<'_> {
        let number = self.next_key.fetch_add(1, Ordering::Relaxed);
        TestKey { suite: self, key: format!("contract-{number}") }
    }

    fn apply(&self, ops: &[Op<'_>], at: Time) -> Vec<Result<Decision, StoreError>> {
        let mut out = vec![Err(StoreError::unanswered()); ops.len()];
        if let Apply::Pending(later) = self.store.apply(ops, Some(at), &mut out) {
            (self.block_on)(later);
        }
        // A layer may decide instead of the store, with the same numbers.
        out.into_iter().map(|result| result.map(|one| one.with_source(Source::Store))).collect()
    }
}

/// Fails the case on a store error. A debt that is too large rejects the case instead, because the
/// laws say nothing about it.
fn expect_ok<T>(result: Result<T, StoreError>) -> Result<T, TestCaseError> {
    result.map_err(|error| match error.is_overdrawn() {
        true => TestCaseError::reject("too much debt"),
        false => TestCaseError::fail(format!("the store failed: {error}")),
    })
}
