//! All or nothing over subjects on different nodes of a cluster.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tollgate_core::{Act, PlainStore};
use tollgate_fixtures::Cluster;

use crate::client::{Client, after_noon, plainly, said};
use crate::plan::{Ask, Plan};

/// One cluster for all tests here, one test at a time: some pause its nodes.
pub(crate) fn cluster() -> MutexGuard<'static, Option<Cluster>> {
    static CLUSTER: LazyLock<Mutex<Option<Cluster>>> = LazyLock::new(|| {
        let cluster = Cluster::start();
        for node in cluster.iter().flat_map(Cluster::nodes) {
            // Nobody is to take over from a node that is paused.
            node.cli(&["config", "set", "cluster-node-timeout", "60000"]);
        }
        Mutex::new(cluster)
    });
    CLUSTER.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn forget_all(cluster: &Cluster) {
    for primary in cluster.primaries() {
        assert_eq!(cluster.nodes()[primary].cli(&["flushall"]), "OK");
    }
}

const THREE: [&str; 3] =
    ["gcra 1/day burst 10 per user", "fixed-window 5/year per ip", "gcra 1/day burst 30 per all"];

fn three(user: &str, ip: &str) -> Plan {
    Plan::new(&THREE, &[("user", user), ("ip", ip)])
}

/// Each of the three alone. They count what the three together do, if they stand where they do.
fn alone(plan_line: usize, user: &str, ip: &str) -> Plan {
    let mut lines = ["unlimited"; 3];
    lines[plan_line] = THREE[plan_line];
    Plan::new(&lines, &[("user", user), ("ip", ip), ("", "nobody")])
}

/// Asks the cluster and a store in memory, which must answer alike.
fn same_as_in_memory(steps: &[(i64, Ask<'_>)]) {
    let cluster = cluster();
    let Some(cluster) = &*cluster else { return };
    forget_all(cluster);
    let (client, near) = (Client::connect(&cluster.url()), PlainStore::default());
    for (place, (seconds, ask)) in steps.iter().enumerate() {
        let at = after_noon(*seconds);
        let (ours, theirs) = (client.ask_at(*ask, Some(at)), plainly(&near, &[*ask], at));
        assert_eq!(said(&[ours]), said(&theirs), "step {}: {ask:?}", place + 1);
    }
}

#[test]
fn a_denied_check_leaves_the_others_uncharged() {
    let (plan, other) = (three("a", "x"), three("a", "y"));
    let [user, ip, all] = [0, 1, 2].map(|line| alone(line, "a", "x"));
    let mut steps = vec![(0, plan.ask(Act::Check, 5)), (0, plan.check())];
    steps.extend([&user, &ip, &all].map(|plan| (0, plan.peek())));
    // Another address has room, but then the user has not.
    steps.extend([(0, other.ask(Act::Check, 5)), (0, other.check()), (0, plan.check())]);
    steps.extend([&user, &ip, &all].map(|plan| (0, plan.peek())));
    same_as_in_memory(&steps);
}

/// Also if time passes between the two round trips, as it does by the store's own clock.
#[test]
fn a_denied_check_leaves_the_others_uncharged_though_time_passes() {
    let cluster = cluster();
    let Some(cluster) = &*cluster else { return };
    forget_all(cluster);
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
    let charged: Vec<&str> = lines.into_iter().filter(|line| !is_free(&client, line)).collect();
    assert!(charged.is_empty(), "denied by another limit, and yet charged: {charged:?}");
}

/// Whether a denial by the limit of an address leaves that of the user as it was.
fn is_free(client: &Client, line: &str) -> bool {
    let lines = [&format!("{line} per user"), "fixed-window 1/year per ip"];
    let plan = |user| Plan::new(&lines, &[("user", user), ("ip", line)]);
    let (other, denied) = (format!("other {line}"), format!("denied {line}"));
    assert!(client.ask(plan(&other).check()).unwrap().allowed);
    assert!(!client.ask(plan(&denied).check()).unwrap().allowed);
    let user = Plan::new(&lines[..1], &[("user", &denied)]);
    client.ask(user.check()).unwrap().allowed
}

#[test]
fn denied_attempts_count_where_they_should() {
    let lines = [
        "fixed-window 9/year count-denied per user",
        "gcra 1/h burst 9 per user",
        "fixed-window 2/h per ip",
        "gcra 1/h burst 30 count-denied per all",
    ];
    let plan = Plan::new(&lines, &[("user", "a"), ("ip", "x")]);
    let mut steps: Vec<(i64, Ask<'_>)> = (0..12).map(|second| (second, plan.check())).collect();
    let ids = ["i0", "i1", "i2", "i3"];
    steps.extend(ids.iter().map(|id| (4_000, plan.check().id(id))));
    steps.extend(ids.iter().map(|id| (4_001, plan.check().id(id))));
    steps.push((9_000, plan.peek()));
    same_as_in_memory(&steps);
}

#[test]
fn ids_make_a_retry_safe() {
    let plan = Plan::new(
        &["gcra 1/min burst 5 per user", "fixed-window 3/min per ip"],
        &[("user", "a"), ("ip", "x")],
    );
    let check = |cost, id| plan.ask(Act::Check, cost).id(id);
    same_as_in_memory(&[
        (0, check(2, "one")),
        (1, check(2, "one")),
        (2, plan.peek()),
        // Denied, and decided anew when there is room.
        (3, check(2, "two")),
        (4, check(2, "two")),
        (61, check(2, "two")),
        (62, check(2, "two")),
        (62, plan.peek()),
        (63, plan.ask(Act::Charge, 1).id("one")),
        (64, plan.ask(Act::Charge, 1).id("one")),
        (64, plan.ask(Act::Refund, 1).id("one")),
        (65, plan.ask(Act::Refund, 1).id("one")),
        (66, plan.peek()),
        (67, plan.ask(Act::Reset, 0)),
        (67, check(2, "two")),
        (67, plan.peek()),
    ]);
}

/// What is given back is remembered in all places, or in none.
#[test]
fn a_refund_is_done_once_though_one_place_had_nothing_to_give_back() {
    let (plan, [user, ip]) = (three("a", "x"), [0, 1].map(|line| alone(line, "a", "x")));
    let refund = |id| plan.ask(Act::Refund, 1).id(id);
    same_as_in_memory(&[
        (0, user.ask(Act::Charge, 2)),
        (1, refund("one")),
        (2, ip.ask(Act::Charge, 2)),
        (3, refund("one")),
        (4, plan.peek()),
        (5, plan.ask(Act::Reset, 0)),
        // Nothing to give back anywhere: it may be asked for again.
        (6, refund("two")),
        (7, plan.ask(Act::Charge, 2)),
        (8, refund("two")),
        (9, refund("two")),
        (10, plan.peek()),
    ]);
}

#[test]
fn reservations_are_settled() {
    let plan = three("a", "x");
    let (reserve, settle) = (plan.ask(Act::Reserve, 3), |cost| plan.ask(Act::Settle, cost));
    same_as_in_memory(&[
        (0, reserve.id("less")),
        (0, reserve.id("less")),
        (1, reserve.id("denied")),
        (1, settle(5).id("denied")),
        (2, plan.peek()),
        (3, settle(1).id("less")),
        (4, settle(1).id("less")),
        (5, plan.peek()),
        (6, reserve.id("more")),
        (7, settle(9).id("more")),
        (8, plan.peek()),
        (9, plan.check()),
        (10, plan.ask(Act::Reset, 0)),
        // It may take as long as any other.
        (11, reserve.id("late")),
        (3_600, settle(1).id("late")),
        (3_601, plan.peek()),
    ]);
}

#[test]
fn leases_are_given_back_by_their_id() {
    let lines = ["concurrency 2 ttl 10min per user", "concurrency 3 ttl 5min per all"];
    let (a, b) = (Plan::new(&lines, &[("user", "a")]), Plan::new(&lines, &[("user", "b")]));
    same_as_in_memory(&[
        (0, a.check().id("one")),
        (0, a.check().id("two")),
        (1, a.check().id("three")),
        (2, b.check().id("one")),
        (3, b.check().id("two")),
        (3, b.peek()),
        (4, a.ask(Act::Release, 0).id("one")),
        (5, a.ask(Act::Release, 0).id("one")),
        (6, b.check().id("two")),
        (200, b.ask(Act::Renew, 0).id("two")),
        (301, b.peek()),
        (302, a.check().id("one")),
        (303, a.check().id("four")),
    ]);
}

/// A denial gives back what was reserved for it, and not what was held under the same id before.
#[test]
fn a_denial_does_not_release_an_older_lease() {
    let lines = ["concurrency 5 ttl 10min per user", "fixed-window 1/h per ip"];
    let plan = Plan::new(&lines, &[("user", "a"), ("ip", "x")]);
    let user = Plan::new(&lines[..1], &[("user", "a")]);
    same_as_in_memory(&[
        (0, plan.check().id("lease")),
        // It is no longer remembered, so it is decided anew: there is no room for the address.
        (61, plan.check().id("lease")),
        (61, user.peek()),
    ]);
}

/// A check and a reservation may have the same id: they are different operations.
#[test]
fn a_check_does_not_close_a_reservation_with_its_id() {
    let plan = three("a", "x");
    same_as_in_memory(&[
        (0, plan.ask(Act::Reserve, 3).id("same")),
        (1, plan.check().id("same")),
        (2, plan.ask(Act::Settle, 0).id("same")),
        (3, plan.peek()),
    ]);
}

/// Nor does one that is denied.
#[test]
fn a_denied_check_does_not_close_a_reservation_with_its_id() {
    let plan = three("a", "x");
    same_as_in_memory(&[
        (0, plan.ask(Act::Reserve, 3).id("same")),
        (1, plan.ask(Act::Check, 3).id("same")),
        (2, plan.ask(Act::Settle, 0).id("same")),
        (3, plan.peek()),
    ]);
}

const TOO_MUCH: u64 = u32::MAX as u64;

/// Whose debt would last too long by the first of two limits, but not by the second.
fn slow_and_fast() -> Plan {
    let lines = ["gcra 1/day burst 10 per user", "fixed-window 9/h per ip"];
    Plan::new(&lines, &[("user", "a"), ("ip", "x")])
}

#[test]
fn a_charge_that_cannot_be_made_changes_nothing() {
    let plan = slow_and_fast();
    same_as_in_memory(&[(0, plan.ask(Act::Charge, TOO_MUCH)), (1, plan.peek())]);
}

/// What failed is not remembered: asked again it is done, in all places.
#[test]
fn a_charge_that_could_not_be_made_is_not_remembered() {
    let plan = slow_and_fast();
    same_as_in_memory(&[
        (0, plan.ask(Act::Charge, TOO_MUCH).id("one")),
        (1, plan.peek()),
        (2, plan.ask(Act::Charge, 2).id("one")),
        (3, plan.peek()),
        (3, plan.ask(Act::Check, 8)),
    ]);
}

#[test]
fn a_reservation_that_cannot_be_settled_stays_as_it_was() {
    let plan = slow_and_fast();
    same_as_in_memory(&[
        (0, plan.ask(Act::Reserve, 2).id("one")),
        (1, plan.ask(Act::Settle, TOO_MUCH).id("one")),
        (2, plan.peek()),
        (3, plan.ask(Act::Settle, 1).id("one")),
        (4, plan.peek()),
    ]);
}

#[test]
fn a_policy_without_limits_allows_everything() {
    let plan = Plan::new(&[], &[]);
    same_as_in_memory(&[(0, plan.check()), (0, plan.peek()), (0, plan.check().id("one"))]);
}

/// A lease is remembered no longer than it lasts: then whoever says to hold it must ask again.
#[test]
fn a_lease_that_has_ended_is_taken_anew() {
    let plan = Plan::new(
        &["concurrency 2 ttl 10s per user", "concurrency 3 ttl 10s per all"],
        &[("user", "a")],
    );
    let check = plan.check().id("one");
    same_as_in_memory(&[(0, check), (5, check), (11, check), (12, plan.peek())]);
}

#[test]
fn a_reservation_of_nothing_is_asked_for_again() {
    let plan = Plan::new(
        &["gcra 1/day burst 10 per user", "fixed-window 9/h per ip"],
        &[("user", "a"), ("ip", "x")],
    );
    let reserve = |cost| plan.ask(Act::Reserve, cost).id("one");
    let settle = |cost| plan.ask(Act::Settle, cost).id("one");
    same_as_in_memory(&[
        (0, reserve(0)),
        (1, settle(20)),
        (2, reserve(0)),
        (3, reserve(5)),
        (4, plan.peek()),
    ]);
}
