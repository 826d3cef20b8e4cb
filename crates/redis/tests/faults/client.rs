//! A store with its runtime. No call may hang.

use std::error::Error as _;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tollgate_core::{Apply, Decision, PlainStore, Store, StoreError, Time};
use tollgate_redis::{RedisStore, RedisStoreBuilder};

use crate::errors::with_causes;
use crate::operations::Operation;

/// A call that takes longer hangs: far more than any timeout of these tests.
pub(crate) const HANG_TIMEOUT: Duration = Duration::from_secs(90);
/// How long a store may take to recover after the fault is over.
pub(crate) const HEAL_TIMEOUT: Duration = Duration::from_secs(60);
/// The response timeout where timeouts are not what a test is about: the machine may be busy.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) type OpResult = Result<Decision, StoreError>;

/// Returns a builder of stores that wait long for a reply.
pub(crate) fn patient(url: &str) -> RedisStoreBuilder {
    RedisStore::builder(url).response_timeout(RESPONSE_TIMEOUT)
}

pub(crate) struct Client {
    pub(crate) runtime: Runtime,
    pub(crate) store: RedisStore,
}

impl Client {
    /// Creates a patient store that is connected.
    pub(crate) fn connect(url: &str) -> Client {
        Client::try_connect(patient(url)).unwrap()
    }

    /// Creates a store that is connected, or returns the error with its causes.
    pub(crate) fn try_connect(builder: RedisStoreBuilder) -> Result<Client, String> {
        let runtime = Runtime::new().unwrap();
        let connecting = async { tokio::time::timeout(HANG_TIMEOUT, builder.connect()).await };
        let connected = runtime.block_on(connecting).expect("connecting hangs");
        connected.map(|store| Client { runtime, store }).map_err(|error| with_causes(&error))
    }

    /// Creates a store that is not connected yet.
    pub(crate) fn build(builder: RedisStoreBuilder) -> Client {
        Client { runtime: Runtime::new().unwrap(), store: builder.build().unwrap() }
    }

    /// Applies an operation by the store's own clock.
    pub(crate) fn apply(&self, operation: Operation<'_>) -> OpResult {
        self.apply_at(operation, None)
    }

    pub(crate) fn apply_at(&self, operation: Operation<'_>, at: Option<Time>) -> OpResult {
        self.apply_all(&[operation], at).remove(0)
    }

    /// Applies all operations in one call.
    pub(crate) fn apply_all(
        &self,
        operations: &[Operation<'_>],
        at: Option<Time>,
    ) -> Vec<OpResult> {
        self.runtime.block_on(apply_all(&self.store, operations, at))
    }

    /// Applies an operation that must succeed, and returns what remains.
    pub(crate) fn remaining(&self, operation: Operation<'_>) -> u64 {
        self.apply(operation).expect("a decision").remaining.expect("a limit")
    }

    /// Applies an operation again and again until it succeeds. Every error before that must say that the
    /// store is unavailable, and why; they are returned.
    pub(crate) fn apply_until_healed(&self, operation: Operation<'_>) -> (Decision, Vec<String>) {
        let (start, mut errors) = (Instant::now(), Vec::new());
        loop {
            match self.apply(operation) {
                Ok(decision) => return (decision, errors),
                Err(error) => errors.push(unavailable(&error)),
            }
            assert!(start.elapsed() < HEAL_TIMEOUT, "does not heal: {errors:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Applies operations; panics if the call hangs.
pub(crate) async fn apply_all(
    store: &dyn Store,
    operations: &[Operation<'_>],
    at: Option<Time>,
) -> Vec<OpResult> {
    let applying = apply_unbounded(store, operations, at);
    tokio::time::timeout(HANG_TIMEOUT, applying).await.expect("the call hangs")
}

/// Applies operations without a timeout, for callers that have their own.
pub(crate) async fn apply_unbounded(
    store: &dyn Store,
    operations: &[Operation<'_>],
    at: Option<Time>,
) -> Vec<OpResult> {
    let requests: Vec<_> = operations.iter().map(Operation::request).collect();
    let all = || operations.iter().zip(&requests);
    let items: Vec<_> = all().map(|(operation, request)| operation.items(request)).collect();
    let ops = all().zip(&items).map(|((operation, request), items)| operation.op(request, items));
    let ops: Vec<_> = ops.collect();
    let mut out = vec![Err(StoreError::unanswered()); ops.len()];
    if let Apply::Pending(pending) = store.apply(&ops, at, &mut out) {
        pending.await;
    }
    out
}

/// Applies operations to the plain store in memory.
pub(crate) fn apply_in_memory(
    store: &PlainStore,
    operations: &[Operation<'_>],
    at: Time,
) -> Vec<OpResult> {
    let apply = |operation: &Operation<'_>| {
        let request = operation.request();
        store.apply_one(&operation.op(&request, &operation.items(&request)), at)
    };
    operations.iter().map(apply).collect()
}

/// Returns results as text, so that they can be compared.
pub(crate) fn to_text(results: &[OpResult]) -> Vec<String> {
    let one = |result: &OpResult| match result {
        Ok(decision) => format!("{decision:?}"),
        Err(error) => with_causes(error),
    };
    results.iter().map(one).collect()
}

/// Returns the text of an error, which must say that the store is unavailable, and why.
pub(crate) fn unavailable(error: &StoreError) -> String {
    let text = with_causes(error);
    assert!(error.is_unavailable() && error.source().is_some(), "{text}");
    text
}

/// Asserts that the store is unavailable, for this reason.
pub(crate) fn assert_unavailable(result: OpResult, why: &str) {
    let text = unavailable(&result.expect_err("an error"));
    assert!(text.contains(why), "{text}");
}

/// Asserts that the state of the key cannot be read, for this reason, which is no failure of the store.
pub(crate) fn assert_damaged(result: OpResult, why: &str) {
    let error = result.expect_err("an error");
    let text = with_causes(&error);
    assert!(error.is_damaged() && !error.is_unavailable() && text.contains(why), "{text}");
}

/// Returns the instant so many seconds from a fixed one.
pub(crate) fn at_second(seconds: i64) -> Time {
    const BASE: u64 = 1_700_000_000_000_000;
    Time::from_micros(BASE.checked_add_signed(seconds * 1_000_000).unwrap()).unwrap()
}
