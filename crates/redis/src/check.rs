//! Methods for one operation at a time.

use tollgate_core::{Act, Apply, Decision, Key, Op, Policy, Store as _, StoreError, Time};

use crate::store::RedisStore;

impl RedisStore {
    /// Checks a policy for a key, with a cost of one.
    ///
    /// For limits that count several subjects, and for other operations, costs and ids use
    /// [`apply_one`](RedisStore::apply_one); for many operations at once
    /// [`apply`](tollgate_core::Store::apply).
    ///
    /// ```no_run
    /// use tollgate_core::{Name, Policy};
    /// use tollgate_redis::RedisStore;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = RedisStore::connect("redis://127.0.0.1:6379").await?;
    /// let login = Policy::parse(Name::new("login")?, ["gcra 5/min burst 5", "fixed-window 100/day"])?;
    ///
    /// let decision = store.check(&login, "203.0.113.9").await?;
    /// if !decision.allowed {
    ///     println!("retry after {:?}", decision.retry_after);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the key is empty or longer than 1,024 bytes, if a limit counts another subject (`per …`), or
    /// if the server does not reply. In the last case it is not known whether the check was counted.
    pub async fn check(
        &self,
        policy: &Policy,
        key: impl AsRef<[u8]>,
    ) -> Result<Decision, StoreError> {
        let key = Key::new(key.as_ref());
        let key = key.map_err(|_| StoreError::malformed("a key has 1 to 1024 bytes"))?;
        let items = policy.items(|kind| kind.is_none().then_some(key));
        let items = items.map_err(|_| StoreError::malformed("a limit counts another subject"))?;
        let op = Op { policy: policy.name(), items: &items, act: Act::Check, cost: 1, id: None };
        self.apply_one(&op, None).await
    }

    /// Applies one operation, at the given time or by the server's clock.
    ///
    /// # Errors
    /// Fails as described for [`apply`](tollgate_core::Store::apply).
    pub async fn apply_one(&self, op: &Op<'_>, at: Option<Time>) -> Result<Decision, StoreError> {
        let mut out = [Err(StoreError::unanswered())];
        if let Apply::Pending(pending) = self.apply(std::slice::from_ref(op), at, &mut out) {
            pending.await;
        }
        let [result] = out;
        result
    }
}
