//! Checks of cost 1: one key at a time, and many at once.

use std::future::Future;

use smallvec::SmallVec;
use tollgate_core::{
    Apply, Decision, IntoKey, Item, Items, Key, KeyBytes, Op, Policy, Request, RequestError,
    Store as _, StoreError, Time, apply_one, push_items_of_key,
};

use crate::any_store::AnyStore;
use crate::error::Error;
use crate::limiter::Limiter;
use crate::memory::{BATCH_SIZE, SingleCheck};

impl Limiter {
    /// Decides whether a request of cost 1 is allowed; if so, counts it.
    ///
    /// # Errors
    /// Fails if the key is empty or longer than 1,024 bytes, or if a limit has a `per` and needs
    /// [named keys](Limiter::keys).
    #[inline]
    pub fn check<'k>(&'k self, key: impl IntoKey<'k>) -> Result<Decision, Error> {
        let key = key.into_key();
        self.check_key(Key::new(key.as_bytes())?)
    }

    #[inline(always)]
    fn check_key(&self, key: Key<'_>) -> Result<Decision, Error> {
        let Some(check) = self.single_check() else { return self.check_policy(key) };
        let (name, now) = (self.policy().name(), self.store().clock().now());
        if let Some(decision) = self.store().check_one_word(name, key.into(), &check, now) {
            return Ok(decision);
        }
        self.check_slow(&check, key, now)
    }

    /// Checks any policy.
    #[inline(never)]
    fn check_policy(&self, key: Key<'_>) -> Result<Decision, Error> {
        let mut items = Items::new();
        push_items_of_key(self.policy().limits(), key, &mut items)?;
        let check = Op::check(self.policy().name(), &items);
        self.store().apply_prepared(&check, self.terms_indices(), None).map_err(Error::from)
    }

    /// Checks a key that has no state of one word.
    #[inline(never)]
    fn check_slow(
        &self,
        check: &SingleCheck<'_>,
        key: Key<'_>,
        now: Time,
    ) -> Result<Decision, Error> {
        let name = self.policy().name();
        let store = self.store();
        let known = store.check_three_words(name, key.into(), check, now);
        if let Some(decision) = known.or_else(|| store.check_whole(name, key.into(), check, now)) {
            return Ok(decision);
        }
        let items = [check.item(key.into())];
        Ok(store.apply_general(&Op::check(name, &items), now)?)
    }

    /// Checks many keys at one instant, each by itself and in order. The decisions replace the
    /// content of `out`.
    ///
    /// All keys are hashed first and looked up together, so that the processor loads their states at
    /// the same time. With many keys this is several times as fast as one call for each.
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter = "gcra 1/s burst 1".parse()?;
    /// let mut decisions = Vec::new();
    /// limiter.check_many(["a", "b", "a"], &mut decisions);
    /// let allowed: Vec<bool> = decisions.into_iter().map(|d| d.unwrap().allowed).collect();
    /// assert_eq!(allowed, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_many<'k, K: IntoKey<'k>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        out: &mut Vec<Result<Decision, Error>>,
    ) {
        out.clear();
        let now = self.store().clock().now();
        let mut keys = keys.into_iter().map(IntoKey::into_key);
        loop {
            let chunk: SmallVec<[KeyBytes<'k>; BATCH_SIZE]> =
                keys.by_ref().take(BATCH_SIZE).collect();
            if chunk.is_empty() {
                return;
            }
            self.check_chunk(&chunk, now, out);
        }
    }

    fn check_chunk(
        &self,
        keys: &[KeyBytes<'_>],
        now: Time,
        out: &mut Vec<Result<Decision, Error>>,
    ) {
        let mut valid: SmallVec<[Key<'_>; BATCH_SIZE]> = SmallVec::new();
        for key in keys {
            match Key::new(key.as_bytes()) {
                Ok(key) => valid.push(key),
                Err(error) => {
                    self.check_keys(&valid, now, out);
                    valid.clear();
                    out.push(Err(error.into()));
                }
            }
        }
        self.check_keys(&valid, now, out);
    }

    fn check_keys(&self, keys: &[Key<'_>], now: Time, out: &mut Vec<Result<Decision, Error>>) {
        out.reserve(keys.len());
        if let Some(check) = self.single_check() {
            let emit = |result: Result<_, StoreError>| out.push(result.map_err(Error::from));
            return self.store().check_batch(self.policy().name(), &check, keys, now, emit);
        }
        let requests: Vec<Request<'_>> = keys.iter().map(|key| Request::of(*key)).collect();
        let items = items_of_each(self.policy(), &requests);
        let mut results = Vec::with_capacity(keys.len());
        for ops in checks(self.policy(), &items).chunks(BATCH_SIZE) {
            self.store().apply_batch(ops, now, |_, result| results.push(result));
        }
        push_in_order(&items, results, out);
    }
}

impl Limiter<AnyStore> {
    /// Decides whether a request of cost 1 is allowed; if so, counts it.
    ///
    /// # Errors
    /// As [`Request::check`](crate::Request::check).
    pub fn check<'k>(
        &'k self,
        key: impl IntoKey<'k>,
    ) -> impl Future<Output = Result<Decision, Error>> + Send {
        let key = key.into_key();
        async move {
            let Some(SingleCheck { limit, cost, .. }) = self.single_check() else {
                return self.key(key).check().await;
            };
            let subject = Key::new(key.as_bytes())?.into();
            let items = [Item { limit, subject, cost }];
            let check = Op::check(self.policy().name(), &items);
            Ok(apply_one(&**self.store(), &check, None).await?)
        }
    }

    /// Checks many keys at one instant in one call of the store, each by itself and in order. The
    /// decisions replace the content of `out`.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter = tollgate::open("memory:").await?.limiter("api", ["gcra 1/s burst 1"])?;
    /// let mut decisions = Vec::new();
    /// limiter.check_many(["a", "b", "a"], &mut decisions).await;
    /// let allowed: Vec<bool> = decisions.into_iter().map(|d| d.unwrap().allowed).collect();
    /// assert_eq!(allowed, [true, true, false]);
    /// # Ok(())
    /// # }
    /// # futures_executor::block_on(example()).unwrap();
    /// ```
    pub async fn check_many<'k, K: IntoKey<'k>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        out: &mut Vec<Result<Decision, Error>>,
    ) {
        out.clear();
        let requests: Vec<Request<'k>> = keys.into_iter().map(Request::of).collect();
        let items = items_of_each(self.policy(), &requests);
        let ops = checks(self.policy(), &items);
        let mut results = vec![Err(StoreError::unanswered()); ops.len()];
        if let Apply::Pending(pending) = self.store().apply(&ops, None, &mut results) {
            pending.await;
        }
        push_in_order(&items, results, out);
    }
}

type ItemsResult<'a> = Result<Items<'a>, RequestError>;

/// Returns the items of each request, or why it has none.
fn items_of_each<'a>(policy: &'a Policy, requests: &'a [Request<'_>]) -> Vec<ItemsResult<'a>> {
    requests.iter().map(|request| request.items(policy.limits())).collect()
}

/// Returns the checks of those requests that have items.
fn checks<'a>(policy: &'a Policy, items: &'a [ItemsResult<'_>]) -> Vec<Op<'a>> {
    items.iter().flatten().map(|items| Op::check(policy.name(), items)).collect()
}

/// Puts the results of the requests that have items between the errors of the others.
fn push_in_order(
    items: &[ItemsResult<'_>],
    results: Vec<Result<Decision, StoreError>>,
    out: &mut Vec<Result<Decision, Error>>,
) {
    let mut results = results.into_iter();
    out.extend(items.iter().map(|items| match items {
        Ok(_) => Ok(results.next().unwrap_or_else(|| Err(StoreError::unanswered()))?),
        Err(error) => Err(error.clone().into()),
    }));
}
