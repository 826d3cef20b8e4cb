//! One queue: a batch is its operations in order, and no key sees another's.

use proptest::prelude::*;

use super::generate::{ALGORITHMS, Step, limit_line, start, steps};
use super::{Asker, Suite, sure};
use crate::{Act, Item, Key, Limit, Name, Op, Subject};

impl Suite<'_> {
    /// A batch of operations on several keys is answered as if each had been asked by itself.
    pub fn a_batch_is_its_operations_in_order(&self) {
        for algorithm in ALGORITHMS {
            let keys = proptest::collection::vec(0_usize..3, 25);
            let cases = (limit_line(algorithm), steps(3, 1), keys, start());
            let law = format!("a batch is its operations in order ({algorithm})");
            self.hold(&law, &cases, |(line, steps, keys, start)| {
                let limits: Vec<Limit> = line.parse().into_iter().collect();
                let (one, batched) = ([(); 3].map(|()| self.key()), [(); 3].map(|()| self.key()));
                let steps: Vec<(usize, &Step)> = keys.iter().copied().zip(&steps).collect();
                let alone = steps.iter().map(|(key, step)| one[*key].ask(&limits, step, start));
                let alone: Vec<String> = alone.map(|answer| format!("{answer:?}")).collect();
                let together = self.ask_together(&batched, &steps, &limits, start);
                prop_assert_eq!(together, alone);
                Ok(())
            });
        }
    }

    fn ask_together(
        &self,
        keys: &[Asker<'_>; 3],
        steps: &[(usize, &Step)],
        limits: &[Limit],
        at: crate::Time,
    ) -> Vec<String> {
        let policy = super::policy_name();
        let key = |place: usize| Key::new(keys[place].key.as_bytes()).expect("a short key");
        let subject = |place: &usize| Subject { kind: None, key: key(*place) };
        let items: Vec<Vec<Item<'_>>> = steps
            .iter()
            .map(|(place, _)| {
                limits.iter().map(|limit| Item { limit, subject: subject(place) }).collect()
            })
            .collect();
        let ops =
            steps.iter().zip(&items).map(|((_, step), items)| super::op(&policy, items, step));
        let ops: Vec<Op<'_>> = ops.collect();
        self.apply(&ops, at).into_iter().map(|answer| format!("{answer:?}")).collect()
    }

    /// State belongs to a policy, a position, a kind of subject and a key: whoever differs in one
    /// of them finds a fresh key.
    pub fn no_key_sees_another(&self) {
        for algorithm in ALGORITHMS {
            let cases = (limit_line(algorithm), start());
            self.hold(&format!("no key sees another ({algorithm})"), &cases, |(line, start)| {
                let limit: Limit = line.parse().map_err(|_| TestCaseError::reject("a bad line"))?;
                let (first, other) = (self.key(), self.key());
                let policies = [super::policy_name(), Name::default()];
                let user = Name::new("user").expect("a right name");
                let ask = |policy: &Name, position: usize, kind, key: &Asker<'_>, act| {
                    let unlimited: Limit = "unlimited".parse().expect("a right line");
                    let key = Key::new(key.key.as_bytes()).expect("a short key");
                    let item = |limit| Item { limit, subject: Subject { kind, key } };
                    let mut items = vec![item(&unlimited); position];
                    items.push(item(&limit));
                    let answers =
                        self.apply(&[super::op(policy, &items, &Step::new(act, 1))], start);
                    answers
                        .into_iter()
                        .next()
                        .map_or_else(|| Err(TestCaseError::fail("none")), sure)
                };
                ask(&policies[0], 0, None, &first, Act::Charge)?;
                prop_assert_ne!(
                    ask(&policies[0], 0, None, &first, Act::Peek)?.remaining,
                    limit.capacity()
                );
                for (policy, position, kind, key) in [
                    (&policies[1], 0, None, &first),
                    (&policies[0], 1, None, &first),
                    (&policies[0], 0, Some(&user), &first),
                    (&policies[0], 0, None, &other),
                ] {
                    let fresh = ask(policy, position, kind, key, Act::Peek)?;
                    prop_assert_eq!(fresh.remaining, limit.capacity(), "{} {:?}", position, kind);
                }
                Ok(())
            });
        }
    }
}
