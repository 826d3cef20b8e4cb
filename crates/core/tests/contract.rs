//! The plain store under the contract: the laws, one test each so that they run side by side.
//!
//! `TOLLGATE_CASES` sets how many random cases each law gets, for each algorithm.

use tollgate_core::PlainStore;
use tollgate_core::contract::Suite;

/// Random cases in an ordinary run.
const CASES: u32 = 256;

fn cases() -> u32 {
    std::env::var("TOLLGATE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES)
}

macro_rules! hold {
    ($($law:ident)*) => {
        $(#[test]
        fn $law() {
            Suite::new(&PlainStore::default()).cases(cases()).$law();
        })*
    };
}

hold! {
    law_1_deny_is_free
    law_1_count_denied_counts_every_attempt
    law_2_all_or_nothing
    law_3_remaining_is_exact
    law_4_retry_after_is_enough_and_no_more
    law_5_reset_after_means_forgotten
    law_6_time_never_gives_back
    law_7_no_drift
    law_8_idle_earns_no_more_than_full
    settling_is_never_more_generous
    settling_is_exact_over_other_cost
    ids_make_a_retry_safe
    release_and_reset_forget_ids
    known_answers
}
