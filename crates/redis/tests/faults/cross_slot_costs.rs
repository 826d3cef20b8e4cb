//! Operations over subjects on different nodes of a cluster, where each limit has a cost of its own.

use tollgate_core::Act;

use crate::client::Client;
use crate::cross_slot::{alone, cluster, flush_all, same_as_in_memory, three};
use crate::operations::KeyedPolicy;

#[test]
fn each_limit_takes_its_own_cost() {
    let (policy, [user, ip, all]) = (three("a", "x"), [0, 1, 2].map(|line| alone(line, "a", "x")));
    let operation = |act, costs| policy.operation(act, 0).costs(costs);
    let mut steps = vec![
        (0, operation(Act::Check, &[2, 0, 5])),
        (1, operation(Act::Check, &[0, 5, 0])),
        // Only the address has no room; nothing of it is needed.
        (1, operation(Act::Check, &[1, 0, 1])),
        (1, operation(Act::Check, &[1, 1, 1])),
        (2, operation(Act::Charge, &[0, 3, 1])),
        // Now it is in debt, where not even nothing fits.
        (3, operation(Act::Check, &[1, 0, 1])),
        (3, operation(Act::Check, &[0, 0, 0])),
        (4, operation(Act::Refund, &[1, 4, 0])),
        (5, operation(Act::Reserve, &[0, 1, 2]).id("one")),
        (5, operation(Act::Settle, &[3, 0, 1]).id("one")),
        (6, operation(Act::Reserve, &[2, 0, 0]).id("two")),
        (6, operation(Act::Settle, &[0, 3, 0]).id("two")),
    ];
    steps.extend([&policy, &user, &ip, &all].map(|policy| (7, policy.peek())));
    same_as_in_memory(&steps);
}

/// A slot that took nothing remembers the decision too, or a retry would be decided anew there.
#[test]
fn a_retry_gets_the_first_decision_where_some_limits_had_no_cost() {
    let (policy, ip) = (three("a", "x"), alone(1, "a", "x"));
    for act in [Act::Check, Act::Reserve, Act::Charge, Act::Refund] {
        let first = policy.operation(act, 0).costs(&[2, 0, 3]).id("one");
        let other = policy.operation(act, 0).costs(&[1, 1, 1]).id("one");
        let charge = ip.operation(Act::Charge, 0).costs(&[0, 9]);
        same_as_in_memory(&[
            (0, policy.operation(Act::Charge, 4)),
            (1, first),
            (2, charge),
            (3, first),
            (4, other),
            (5, policy.peek()),
            // In debt from the beginning: only what cannot be denied is done.
            (6, policy.operation(act, 0).costs(&[1, 0, 0]).id("two")),
            (7, policy.operation(act, 0).costs(&[1, 0, 0]).id("two")),
            (8, policy.peek()),
        ]);
    }
}

/// Nothing is taken from a limit that counts nothing, so that there is nothing to remember.
#[test]
fn the_cost_of_an_unlimited_limit_is_not_remembered() {
    let lines = ["unlimited per user", "fixed-window 5/year per ip", "gcra 1/day burst 9 per all"];
    let policy = KeyedPolicy::new(&lines, &[("user", "a"), ("ip", "x")]);
    for act in [Act::Check, Act::Reserve, Act::Charge, Act::Refund] {
        let operation = |cost, costs| policy.operation(act, cost).costs(costs).id("one");
        same_as_in_memory(&[
            (0, policy.operation(Act::Charge, 4)),
            (1, operation(0, &[3])),
            (2, operation(1, &[])),
            (3, operation(1, &[])),
            (4, policy.peek()),
        ]);
    }
}

#[test]
fn the_same_limit_twice_has_two_states() {
    let line = "gcra 1/day burst 5 per user";
    let lines = [line, line, "fixed-window 9/year per ip", line];
    let policy = KeyedPolicy::new(&lines, &[("user", "a"), ("ip", "x")]);
    let operation = |act, costs| policy.operation(act, 1).costs(costs);
    same_as_in_memory(&[
        (0, operation(Act::Check, &[2, 1, 1, 0])),
        (1, operation(Act::Check, &[3, 3, 3, 3]).id("one")),
        (2, operation(Act::Check, &[1, 1, 1, 1])),
        (3, operation(Act::Refund, &[1, 0, 0, 2])),
        (4, operation(Act::Reserve, &[1, 1, 0, 4]).id("two")),
        (5, operation(Act::Settle, &[0, 2, 1, 1]).id("two")),
        (6, policy.peek()),
    ]);
}

/// Where there is no cost, nothing is opened and nothing written.
#[test]
fn a_slot_without_a_cost_is_not_written() {
    let cluster = cluster();
    let Some(cluster) = &*cluster else { return };
    let client = Client::connect(&cluster.url());
    let policy = three("a", "x");
    for act in [Act::Check, Act::Charge] {
        flush_all(cluster);
        let operation = policy.operation(act, 0).costs(&[0, 2, 0]);
        assert_eq!(client.remaining(operation), 3);
        let primaries = cluster.primaries().into_iter();
        let keys = primaries.map(|node| cluster.nodes()[node].cli(&["dbsize"]));
        assert_eq!(keys.map(|size| size.parse::<u64>().unwrap()).sum::<u64>(), 1, "{act}");
    }
}
