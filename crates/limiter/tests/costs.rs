//! However hard one client drives one key, no operation walks more than a named number of entries, and the key keeps
//! no more bytes than it may.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::time::Duration;

use tollgate::{Clock, Error, Limiter, MemoryStore};
use tollgate_core::MAX_ENTRIES;
use tollgate_core::storage::{MAX_RESERVATIONS, take_walked};

/// Number of operations of one attack.
const OPERATIONS: u64 = 40_000;

/// Most passes over all entries of a key that an operation makes, for each of its limits.
const MAX_PASSES: usize = 4;
/// Slots of tables and of the memory for ids that an operation sweeps besides.
const MAX_SWEPT: usize = 4_096;

/// Each algorithm, with room for as many entries as one key may have.
const LIMITS: [&str; 11] = [
    "gcra 1000000/s burst 1000000",
    "token-bucket 1000000/s burst 1000000",
    "leaky-bucket size 1000000 drip 1000 every 1ms",
    "fixed-window 1000000/h",
    "request-window 1000000/h",
    "sliding-window 1000000/h",
    "sliding-counters 1000000/h resolution 1s",
    "sliding-log 9000/h",
    "ar1 max 1000000 decay 1.5 resolution 1s",
    "concurrency 9000 ttl 1h",
    "concurrency 9000 ttl 1s",
];

/// What the client does. Where it has the choice, in the order that hurts most.
#[derive(Debug, Clone, Copy)]
enum Attack {
    /// Each operation takes, under an id of its own.
    Checks,
    /// Each charge is one more entry, also beyond the limit.
    Charges,
    /// Reservations of nothing, and checks among them.
    Reservations,
    /// What is reserved is settled much later, for another cost.
    Settlements,
    /// Leases are renewed, the oldest first.
    Renewals,
    /// Leases are given back, the oldest first.
    Releases,
    /// What was taken is given back one by one, and taken again.
    Refunds,
    /// All operations in turn.
    All,
}

const ATTACKS: [Attack; 8] = [
    Attack::Checks,
    Attack::Charges,
    Attack::Reservations,
    Attack::Settlements,
    Attack::Renewals,
    Attack::Releases,
    Attack::Refunds,
    Attack::All,
];

/// Does operation number `n`. What is denied, or an error, costs as well.
fn operate(limiter: &Limiter, attack: Attack, n: u64) -> Result<(), Error> {
    let (id, old) = (n.to_le_bytes(), (n / 2).to_le_bytes());
    let request = || limiter.key("victim");
    match (attack, n % 8) {
        (Attack::Checks, _) | (Attack::Renewals | Attack::Releases, 0 | 2 | 4 | 6) => {
            request().id(&id).check().map(drop)
        }
        (Attack::Charges, _) => request().charge().map(drop),
        (Attack::Reservations, 7) | (Attack::Refunds, 0..4) => request().check().map(drop),
        (Attack::Reservations, _) => request().cost(n % 2).id(&id).reserve().map(drop),
        (Attack::Settlements, 0 | 2 | 4 | 6) => request().cost(2).id(&id).reserve().map(drop),
        (Attack::Settlements, _) => {
            let reserved = (n.saturating_sub(1_501)).to_le_bytes();
            request().cost(n % 5).id(&reserved).settle().map(drop)
        }
        (Attack::Renewals, _) => request().id(&(old)).renew().map(drop),
        (Attack::Releases, _) => request().id(&old).release().map(drop),
        (Attack::Refunds, _) => request().refund().map(drop),
        (Attack::All, 0) => request().id(&id).check().map(drop),
        (Attack::All, 1) => request().cost(n % 3).id(&id).reserve().map(drop),
        (Attack::All, 2) => request().cost(1).id(&old).settle().map(drop),
        (Attack::All, 3) => request().charge().map(drop),
        (Attack::All, 4) => request().id(&old).renew().map(drop),
        (Attack::All, 5) => request().id(&old).release().map(drop),
        (Attack::All, 6) => request().refund().map(drop),
        (Attack::All, _) => request().peek().map(drop),
    }
}

#[test]
fn no_operation_on_one_key_costs_more_than_a_few_passes_over_its_entries() {
    for (line, attack) in LIMITS.iter().flat_map(|line| ATTACKS.map(|attack| (*line, attack))) {
        let clock = Clock::manual();
        let store: Arc<MemoryStore> =
            MemoryStore::builder().max_memory(64 << 20).clock(clock.clone()).build().unwrap();
        let limiter = store.limiter("attacked", [line]).unwrap();
        let (mut most, mut at) = (0, 0);
        for n in 0..OPERATIONS {
            clock.advance(Duration::from_micros(150));
            let _ = take_walked();
            let _ = operate(&limiter, attack, n);
            let walked = take_walked();
            if walked > most {
                (most, at) = (walked, n);
            }
        }
        println!("{line}: {attack:?}: most {most} at {at}");
        let bound = MAX_PASSES * (MAX_ENTRIES + MAX_RESERVATIONS) + MAX_SWEPT;
        assert!(most <= bound, "{line}: {attack:?}: operation {at} walked {most} entries");
        let stats = store.stats();
        assert!(stats.keys <= 1, "{line}: {attack:?}: {stats:?}");
        // A list has room for at most twice its entries.
        let entries = 2 * 48 * (MAX_ENTRIES + 1) + 8_192;
        let reservations = 2 * 56 * MAX_RESERVATIONS + 4_096;
        assert!(stats.states.bytes <= entries, "{line}: {attack:?}: {stats:?}");
        assert!(stats.leases.bytes <= entries, "{line}: {attack:?}: {stats:?}");
        assert!(stats.reservations.bytes <= reservations, "{line}: {attack:?}: {stats:?}");
    }
}
