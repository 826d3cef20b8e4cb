//! One queue: a batch is applied in order, and keys are independent.

use proptest::prelude::*;

use super::generate::{ALGORITHMS, Step, limit_line, start, steps};
use super::{Suite, TestKey, expect_decision};
use crate::{Act, Item, Key, Limit, Name, Op, Subject};

impl Suite<'_> {
    /// Tests that a batch on several keys gives the decisions of its operations applied one by one.
    pub fn a_batch_is_its_operations_in_order(&self) {
        for algorithm in ALGORITHMS {
            let keys = proptest::collection::vec(0_usize..3, 25);
            let cases = (limit_line(algorithm), steps(3, 1), keys, start());
            let law = format!("a batch is its operations in order ({algorithm})");
            self.check_law(&law, &cases, |(line, steps, keys, start)| {
                let limits: Vec<Limit> = line.parse().into_iter().collect();
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
        at: crate::Time,
    ) -> Vec<String> {
        let policy = super::policy_name();
        let key = |index: usize| Key::new(keys[index].key.as_bytes()).expect("a short key");
        let subject = |index: &usize| Subject { name: None, key: key(*index) };
        let items: Vec<Vec<Item<'_>>> = steps
            .iter()
            .map(|(index, _)| {
                limits.iter().map(|limit| Item { limit, subject: subject(index) }).collect()
            })
            .collect();
        let ops =
            steps.iter().zip(&items).map(|((_, step), items)| super::op(&policy, items, step));
        let ops: Vec<Op<'_>> = ops.collect();
        self.apply(&ops, at).into_iter().map(|result| format!("{result:?}")).collect()
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
                    let policies = [super::policy_name(), Name::default()];
                    let user = Name::new("user").expect("a valid name");
                    let apply = |policy: &Name, position: usize, name, key: &TestKey<'_>, act| {
                        let unlimited: Limit = "unlimited".parse().expect("a valid line");
                        let key = Key::new(key.key.as_bytes()).expect("a short key");
                        let item = |limit| Item { limit, subject: Subject { name, key } };
                        let mut items = vec![item(&unlimited); position];
                        items.push(item(&limit));
                        let results =
                            self.apply(&[super::op(policy, &items, &Step::new(act, 1))], start);
                        results
                            .into_iter()
                            .next()
                            .map_or_else(|| Err(TestCaseError::fail("no result")), expect_decision)
                    };
                    apply(&policies[0], 0, None, &first, Act::Charge)?;
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
