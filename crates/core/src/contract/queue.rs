//! One queue: a batch is applied in order, and keys are independent.

use proptest::prelude::*;

use super::generate::{ALGORITHMS, Step, limit_line, start, steps_for};
use super::key::{Applied, TestKey, asked, op, policy_name};
use super::{Suite, expect_ok};
use crate::{Act, Item, Limit, LimitStatuses, Name, Op, StoreError, Subject, Time};

impl Suite<'_> {
    /// Tests that a batch on several keys gives the results of its operations applied one by one.
    pub fn a_batch_is_its_operations_in_order(&self) {
        for algorithm in ALGORITHMS {
            let any = proptest::sample::select(&ALGORITHMS[..]).prop_flat_map(limit_line);
            let lines = (limit_line(algorithm), proptest::option::weighted(0.3, any));
            let keys = proptest::collection::vec(0_usize..3, 25);
            let cases = (lines, steps_for(&[3, 3], 1), keys, start());
            let law = format!("a batch is its operations in order ({algorithm})");
            self.check_law(&law, &cases, |((first, second), steps, keys, start)| {
                let lines = [Some(first), second];
                let limits = lines.iter().flatten().filter_map(|line| line.parse().ok());
                let limits: Vec<Limit> = limits.collect();
                let (one, batched) =
                    ([(); 3].map(|()| self.new_key()), [(); 3].map(|()| self.new_key()));
                let steps: Vec<(usize, &Step)> = keys.iter().copied().zip(&steps).collect();
                let alone = steps.iter().map(|(key, step)| one[*key].apply(&limits, step, start));
                let alone: Vec<String> = alone.map(|result| format!("{result:?}")).collect();
                let together = self.apply_batch(&batched, &steps, &limits, start);
                prop_assert_eq!(together, alone);
                Ok(())
            });
        }
    }

    fn apply_batch(
        &self,
        keys: &[TestKey<'_>; 3],
        steps: &[(usize, &Step)],
        limits: &[Limit],
        at: Time,
    ) -> Vec<String> {
        let policy = policy_name();
        let items = steps.iter().map(|(index, step)| keys[*index].items(limits, step));
        let items: Vec<Vec<Item<'_>>> = items.collect();
        let statuses: Vec<LimitStatuses> = steps.iter().map(|_| LimitStatuses::default()).collect();
        let ops = steps.iter().zip(&items).zip(&statuses);
        let ops = ops.map(|(((_, step), items), statuses)| {
            op(&policy, items, step, asked(limits, statuses))
        });
        let ops: Vec<Op<'_>> = ops.collect();
        let results = self.apply(&ops, at).into_iter().zip(&ops);
        let applied =
            results.map(|(result, op)| result.map(|decision| Applied::of(decision, op.statuses)));
        applied.map(|applied| format!("{applied:?}")).collect()
    }

    /// Tests that state belongs to a policy, a position, the name of the subject and its key: an
    /// operation that differs in one of them finds a fresh key.
    pub fn no_key_sees_another(&self) {
        for algorithm in ALGORITHMS {
            let cases = (limit_line(algorithm), start());
            self.check_law(
                &format!("no key sees another ({algorithm})"),
                &cases,
                |(line, start)| {
                    let limit: Limit =
                        line.parse().map_err(|_| TestCaseError::reject("an invalid line"))?;
                    let (first, other) = (self.new_key(), self.new_key());
                    let policies = [policy_name(), Name::default()];
                    let user = Name::new("user").expect("a valid name");
                    let apply = |policy: &Name, position: usize, name, key: &TestKey<'_>, act| {
                        let unlimited: Limit = "unlimited".parse().expect("a valid line");
                        let subject = Subject { name, ..key.subject() };
                        let item = |limit| Item { limit, subject, cost: 1 };
                        let mut items = vec![item(&unlimited); position];
                        items.push(item(&limit));
                        let op = op(policy, &items, &Step::new(act, 1), None);
                        let result = self.apply(&[op], start).into_iter().next();
                        expect_ok(result.unwrap_or_else(|| Err(StoreError::unanswered())))
                    };
                    let _ = apply(&policies[0], 0, None, &first, Act::Charge)?;
                    prop_assert_ne!(
                        apply(&policies[0], 0, None, &first, Act::Peek)?.remaining,
                        limit.capacity()
                    );
                    for (policy, position, name, key) in [
                        (&policies[1], 0, None, &first),
                        (&policies[0], 1, None, &first),
                        (&policies[0], 0, Some(&user), &first),
                        (&policies[0], 0, None, &other),
                    ] {
                        let fresh = apply(policy, position, name, key, Act::Peek)?;
                        prop_assert_eq!(
                            fresh.remaining,
                            limit.capacity(),
                            "{} {:?}",
                            position,
                            name
                        );
                    }
                    Ok(())
                },
            );
        }
    }
}
