//! Operations over subjects on different nodes of a cluster, all or nothing.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tollgate_core::{Act, LimitStatuses, Op, PlainStore};
use tollgate_fixtures::Cluster;

use crate::client::{Client, OpResult, at_second, to_text};
use crate::operations::{KeyedPolicy, Operation};

/// One cluster for all tests here, one test at a time: some pause its nodes.
pub(crate) fn cluster() -> MutexGuard<'static, Option<Cluster>> {
    static CLUSTER: LazyLock<Mutex<Option<Cluster>>> = LazyLock::new(|| {
        let cluster = Cluster::start();
        for node in cluster.iter().flat_map(Cluster::nodes) {
            // No replica may take over from a paused node.
            node.cli(&["config", "set", "cluster-node-timeout", "60000"]);
        }
        Mutex::new(cluster)
    });
    CLUSTER.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn flush_all(cluster: &Cluster) {
    for primary in cluster.primaries() {
        assert_eq!(cluster.nodes()[primary].cli(&["flushall"]), "OK");
    }
}

const THREE: [&str; 3] =
    ["gcra 1/day burst 10 per user", "fixed-window 5/year per ip", "gcra 1/day burst 30 per all"];

pub(crate) fn three(user: &str, ip: &str) -> KeyedPolicy {
    KeyedPolicy::new(&THREE, &[("user", user), ("ip", ip)])
}

/// Returns one of the three limits alone. At the same position it shares its state with the three.
pub(crate) fn alone(line: usize, user: &str, ip: &str) -> KeyedPolicy {
    let mut lines = ["unlimited"; 3];
    lines[line] = THREE[line];
    KeyedPolicy::new(&lines, &[("user", user), ("ip", ip), ("", "unused")])
}

/// Applies an operation, and returns the result and the status of each limit as text.
fn reported(operation: Operation<'_>, apply: impl FnOnce(&Op<'_>) -> OpResult) -> String {
    let (statuses, request) = (LimitStatuses::default(), operation.request());
    let request = request.statuses(&statuses);
    let result = apply(&operation.op(&request, &operation.items(&request)));
    format!("{:?} {:?}", to_text(&[result]), statuses.to_vec())
}

/// Applies operations to the cluster and in memory, and compares the decisions and the statuses.
pub(crate) fn same_as_in_memory(steps: &[(i64, Operation<'_>)]) {
    let cluster = cluster();
    let Some(cluster) = &*cluster else { return };
    flush_all(cluster);
    let (client, memory) = (Client::connect(&cluster.url()), PlainStore::default());
    for (index, (seconds, operation)) in steps.iter().enumerate() {
        let at = at_second(*seconds);
        let apply = |op: &Op<'_>| client.runtime.block_on(client.store.apply_one(op, Some(at)));
        let result = reported(*operation, apply);
        let expected = reported(*operation, |op| memory.apply_one(op, at));
        assert_eq!(result, expected, "step {}: {operation:?}", index + 1);
    }
}

#[test]
fn a_denied_check_leaves_the_others_uncharged() {
    let (policy, other) = (three("a", "x"), three("a", "y"));
    let [user, ip, all] = [0, 1, 2].map(|line| alone(line, "a", "x"));
    let mut steps = vec![(0, policy.operation(Act::Check, 5)), (0, policy.check())];
    steps.extend([&user, &ip, &all].map(|policy| (0, policy.peek())));
    // Another address has room, but now the user has not.
    steps.extend([(0, other.operation(Act::Check, 5)), (0, other.check()), (0, policy.check())]);
    steps.extend([&user, &ip, &all].map(|policy| (0, policy.peek())));
    same_as_in_memory(&steps);
}

/// Time passes between the two round trips, by the store's own clock.
#[test]
fn a_denied_check_leaves_the_others_uncharged_while_time_passes() {
    let cluster = cluster();
    let Some(cluster) = &*cluster else { return };
    flush_all(cluster);
    let client = Client::connect(&cluster.url());
    let lines = [
        "gcra 1/h burst 1",
        "token-bucket 1/h burst 1",
        "leaky-bucket size 1 drip 1 every 1h",
        "fixed-window 1/year",
        "request-window 1/h",
        "sliding-log 1/h",
        "sliding-counters 1/h resolution 1min",
        "sliding-window 1/h",
        "ar1 max 1 decay 2 resolution 1h",
        "concurrency 1 ttl 1h",
    ];
    let charged: Vec<&str> =
        lines.into_iter().filter(|line| !denial_is_free(&client, line)).collect();
    assert!(charged.is_empty(), "charged although another limit denied: {charged:?}");
}

/// Whether a denial by the limit of an address leaves that of the user as it was.
fn denial_is_free(client: &Client, line: &str) -> bool {
    let lines = [&format!("{line} per user"), "fixed-window 1/year per ip"];
    let policy = |user| KeyedPolicy::new(&lines, &[("user", user), ("ip", line)]);
    let (other, denied) = (format!("other {line}"), format!("denied {line}"));
    assert!(client.apply(policy(&other).check()).unwrap().allowed);
    assert!(!client.apply(policy(&denied).check()).unwrap().allowed);
    let user = KeyedPolicy::new(&lines[..1], &[("user", &denied)]);
    client.apply(user.check()).unwrap().allowed
}

#[test]
fn denied_attempts_count_where_they_should() {
    let lines = [
        "fixed-window 9/year count-denied per user",
        "gcra 1/h burst 9 per user",
        "fixed-window 2/h per ip",
        "gcra 1/h burst 30 count-denied per all",
    ];
    let policy = KeyedPolicy::new(&lines, &[("user", "a"), ("ip", "x")]);
    let mut steps: Vec<(i64, Operation<'_>)> =
        (0..12).map(|second| (second, policy.check())).collect();
    let ids = ["i0", "i1", "i2", "i3"];
    steps.extend(ids.iter().map(|id| (4_000, policy.check().id(id))));
    steps.extend(ids.iter().map(|id| (4_001, policy.check().id(id))));
    steps.push((9_000, policy.peek()));
    same_as_in_memory(&steps);
}

#[test]
fn ids_make_a_retry_safe() {
    let policy = KeyedPolicy::new(
        &["gcra 1/min burst 5 per user", "fixed-window 3/min per ip"],
        &[("user", "a"), ("ip", "x")],
    );
    let check = |cost, id| policy.operation(Act::Check, cost).id(id);
    same_as_in_memory(&[
        (0, check(2, "one")),
        (1, check(2, "one")),
        (2, policy.peek()),
        // Denied, and decided anew when there is room.
        (3, check(2, "two")),
        (4, check(2, "two")),
        (61, check(2, "two")),
        (62, check(2, "two")),
        (62, policy.peek()),
        (63, policy.operation(Act::Charge, 1).id("one")),
        (64, policy.operation(Act::Charge, 1).id("one")),
        (64, policy.operation(Act::Refund, 1).id("one")),
        (65, policy.operation(Act::Refund, 1).id("one")),
        (66, policy.peek()),
        (67, policy.operation(Act::Reset, 0)),
        (67, check(2, "two")),
        (67, policy.peek()),
    ]);
}

/// A refund is remembered in all slots, or in none.
#[test]
fn a_refund_is_done_once_even_if_one_slot_had_nothing_to_give_back() {
    let (policy, [user, ip]) = (three("a", "x"), [0, 1].map(|line| alone(line, "a", "x")));
    let refund = |id| policy.operation(Act::Refund, 1).id(id);
    same_as_in_memory(&[
        (0, user.operation(Act::Charge, 2)),
        (1, refund("one")),
        (2, ip.operation(Act::Charge, 2)),
        (3, refund("one")),
        (4, policy.peek()),
        (5, policy.operation(Act::Reset, 0)),
        // Nothing to give back anywhere: it is not remembered.
        (6, refund("two")),
        (7, policy.operation(Act::Charge, 2)),
        (8, refund("two")),
        (9, refund("two")),
        (10, policy.peek()),
    ]);
}

#[test]
fn reservations_are_settled() {
    let policy = three("a", "x");
    let (reserve, settle) =
        (policy.operation(Act::Reserve, 3), |cost| policy.operation(Act::Settle, cost));
    same_as_in_memory(&[
        (0, reserve.id("less")),
        (0, reserve.id("less")),
        (1, reserve.id("denied")),
        (1, settle(5).id("denied")),
        (2, policy.peek()),
        (3, settle(1).id("less")),
        (4, settle(1).id("less")),
        (5, policy.peek()),
        (6, reserve.id("more")),
        (7, settle(9).id("more")),
        (8, policy.peek()),
        (9, policy.check()),
        (10, policy.operation(Act::Reset, 0)),
        // It can be settled as late as any other.
        (11, reserve.id("late")),
        (3_600, settle(1).id("late")),
        (3_601, policy.peek()),
    ]);
}

#[test]
fn leases_are_given_back_by_their_id() {
    let lines = ["concurrency 2 ttl 10min per user", "concurrency 3 ttl 5min per all"];
    let (a, b) =
        (KeyedPolicy::new(&lines, &[("user", "a")]), KeyedPolicy::new(&lines, &[("user", "b")]));
    same_as_in_memory(&[
        (0, a.check().id("one")),
        (0, a.check().id("two")),
        (1, a.check().id("three")),
        (2, b.check().id("one")),
        (3, b.check().id("two")),
        (3, b.peek()),
        (4, a.operation(Act::Release, 0).id("one")),
        (5, a.operation(Act::Release, 0).id("one")),
        (6, b.check().id("two")),
        (200, b.operation(Act::Renew, 0).id("two")),
        (301, b.peek()),
        (302, a.check().id("one")),
        (303, a.check().id("four")),
    ]);
}

/// A lease that has ended is not remembered, although the other slot still has it: all of it is decided again, and
/// remembered again.
#[test]
fn a_lease_that_has_ended_is_decided_again_in_every_slot() {
    let lines = ["concurrency 1 ttl 50s per user", "gcra 1/h burst 5 per ip"];
    let policy = KeyedPolicy::new(&lines, &[("user", "a"), ("ip", "x")]);
    let user = KeyedPolicy::new(&lines[..1], &[("user", "a")]);
    for take in [Act::Check, Act::Reserve] {
        let take = policy.operation(take, 1);
        same_as_in_memory(&[
            (0, take.id("one")),
            (1, take.id("one")),
            (2, user.operation(Act::Refund, 1)),
            (3, policy.check().id("two")),
            (4, take.id("one")),
            (5, policy.operation(Act::Release, 0).id("two")),
            (6, take.id("one")),
            (7, take.id("one")),
            (8, policy.peek()),
            // Renewed, it is remembered longer than it lasted at first.
            (9, policy.operation(Act::Renew, 0).id("one")),
            (57, take.id("one")),
            (58, policy.peek()),
            // Ended by its time.
            (59, take.id("one")),
            (60, policy.peek()),
        ]);
    }
}

/// A denied attempt that counts holds nothing, whichever slot denied it.
#[test]
fn a_denied_attempt_holds_nothing() {
    let lines = ["concurrency 2 ttl 10min count-denied per user", "gcra 1/h burst 1 per ip"];
    let policy = KeyedPolicy::new(&lines, &[("user", "a"), ("ip", "x")]);
    same_as_in_memory(&[
        (0, policy.check().id("one")),
        (1, policy.check().id("two")),
        (2, policy.operation(Act::Renew, 0).id("two")),
        (3, policy.operation(Act::Release, 0).id("two")),
        (4, policy.operation(Act::Release, 0).id("one")),
        (5, policy.peek()),
    ]);
}

/// A denial gives back what was reserved for it, not what was held under the same id before.
#[test]
fn a_denial_does_not_release_an_older_lease() {
    let lines = ["concurrency 5 ttl 10min per user", "fixed-window 1/h per ip"];
    let policy = KeyedPolicy::new(&lines, &[("user", "a"), ("ip", "x")]);
    let user = KeyedPolicy::new(&lines[..1], &[("user", "a")]);
    same_as_in_memory(&[
        (0, policy.check().id("lease")),
        // No longer remembered, so that it is decided again: there is no room for the address.
        (61, policy.check().id("lease")),
        (61, user.peek()),
    ]);
}

/// A check and a reservation may have the same id: they are different operations.
#[test]
fn a_check_does_not_settle_a_reservation_with_its_id() {
    let policy = three("a", "x");
    same_as_in_memory(&[
        (0, policy.operation(Act::Reserve, 3).id("same")),
        (1, policy.check().id("same")),
        (2, policy.operation(Act::Settle, 0).id("same")),
        (3, policy.peek()),
    ]);
}

/// The same if the check is denied.
#[test]
fn a_denied_check_does_not_settle_a_reservation_with_its_id() {
    let policy = three("a", "x");
    same_as_in_memory(&[
        (0, policy.operation(Act::Reserve, 3).id("same")),
        (1, policy.operation(Act::Check, 3).id("same")),
        (2, policy.operation(Act::Settle, 0).id("same")),
        (3, policy.peek()),
    ]);
}

const TOO_MUCH: u64 = u32::MAX as u64;

/// Returns a policy with two limits: only under the first one a huge debt would last too long.
fn slow_and_fast() -> KeyedPolicy {
    let lines = ["gcra 1/day burst 10 per user", "fixed-window 9/h per ip"];
    KeyedPolicy::new(&lines, &[("user", "a"), ("ip", "x")])
}

#[test]
fn a_charge_that_cannot_be_made_changes_nothing() {
    let policy = slow_and_fast();
    same_as_in_memory(&[(0, policy.operation(Act::Charge, TOO_MUCH)), (1, policy.peek())]);
}

/// An attempt that is denied counts in all slots, or in none.
#[test]
fn a_denied_attempt_that_cannot_be_counted_changes_nothing() {
    let lines =
        ["gcra 1/day burst 9 count-denied per user", "fixed-window 9/h count-denied per ip"];
    let policy = KeyedPolicy::new(&lines, &[("user", "a"), ("ip", "x")]);
    same_as_in_memory(&[(0, policy.operation(Act::Check, TOO_MUCH)), (1, policy.peek())]);
}

/// A failed charge is not remembered: repeated, it is done in all slots.
#[test]
fn a_charge_that_could_not_be_made_is_not_remembered() {
    let policy = slow_and_fast();
    same_as_in_memory(&[
        (0, policy.operation(Act::Charge, TOO_MUCH).id("one")),
        (1, policy.peek()),
        (2, policy.operation(Act::Charge, 2).id("one")),
        (3, policy.peek()),
        (3, policy.operation(Act::Check, 8)),
    ]);
}

#[test]
fn a_reservation_that_cannot_be_settled_stays_as_it_was() {
    let policy = slow_and_fast();
    same_as_in_memory(&[
        (0, policy.operation(Act::Reserve, 2).id("one")),
        (1, policy.operation(Act::Settle, TOO_MUCH).id("one")),
        (2, policy.peek()),
        (3, policy.operation(Act::Settle, 1).id("one")),
        (4, policy.peek()),
    ]);
}

#[test]
fn a_policy_without_limits_allows_everything() {
    for lines in [&[][..], &["unlimited", "unlimited"]] {
        let policy = KeyedPolicy::new(lines, &[("", "a")]);
        let check = policy.check();
        same_as_in_memory(&[(0, check), (0, policy.peek()), (0, check.id("one"))]);
    }
}

/// A lease is remembered no longer than it lasts; then a check with its id takes a new one.
#[test]
fn a_lease_that_has_ended_is_taken_anew() {
    let policy = KeyedPolicy::new(
        &["concurrency 2 ttl 10s per user", "concurrency 3 ttl 10s per all"],
        &[("user", "a")],
    );
    let check = policy.check().id("one");
    same_as_in_memory(&[(0, check), (5, check), (11, check), (12, policy.peek())]);
}

#[test]
fn a_reservation_of_nothing_is_not_remembered() {
    let policy = KeyedPolicy::new(
        &["gcra 1/day burst 10 per user", "fixed-window 9/h per ip"],
        &[("user", "a"), ("ip", "x")],
    );
    let reserve = |cost| policy.operation(Act::Reserve, cost).id("one");
    let settle = |cost| policy.operation(Act::Settle, cost).id("one");
    same_as_in_memory(&[
        (0, reserve(0)),
        (1, settle(20)),
        (2, reserve(0)),
        (3, reserve(5)),
        (4, policy.peek()),
    ]);
}
