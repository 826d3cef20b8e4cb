//! The contract suite on the plain store, one test for each law so that they run in parallel.
//!
//! `TOLLGATE_CASES` sets the number of random cases for each law and algorithm, `TOLLGATE_SEED`
//! their seed.

use tollgate_core::PlainStore;
use tollgate_core::contract::Suite;

/// Default number of random cases.
const CASES: u32 = 256;

fn setting<T: std::str::FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

macro_rules! laws {
    ($($law:ident)*) => {
        $(#[test]
        fn $law() {
            let (cases, seed) = (setting("TOLLGATE_CASES", CASES), setting("TOLLGATE_SEED", 1));
            Suite::new(&PlainStore::default()).cases(cases).seed(seed).$law();
        })*
    };
}

laws! {
    law_1_deny_is_free
    law_1_count_denied_counts_every_attempt
    law_1_count_denied_counts_what_others_denied
    law_2_all_or_nothing
    law_3_remaining_is_exact
    law_4_retry_after_is_enough_and_no_more
    law_5_reset_after_means_forgotten
    law_6_time_never_gives_back
    law_7_no_drift
    law_8_idle_earns_no_more_than_full
    each_limit_has_its_status
    a_limit_that_occurs_twice_has_two_states
    settling_is_never_more_generous
    settling_is_exact_over_other_cost
    reservations_that_overlap_give_back_all
    ids_make_a_retry_safe
    settle_and_reset_are_done_once
    release_and_reset_forget_ids
    what_finds_nothing_changes_nothing
    a_lease_is_held_until_it_ends
    a_refund_ends_the_lease_that_would_end_last
    a_lease_is_renewed_in_all_limits_or_in_none
    a_lease_that_has_ended_is_not_remembered
    a_renewed_lease_is_remembered
    a_denied_attempt_holds_nothing
    a_reservation_is_settled_once
    a_batch_is_its_operations_in_order
    no_key_sees_another
    known_answers
}
