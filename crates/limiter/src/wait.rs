//! Waiting until a check passes, in any async runtime or in none.
//!
//! A caller checks at once if its queue is empty. If it is denied, or finds other callers waiting for
//! the same keys, it joins their queue. Only the first caller of a queue checks: it sleeps until
//! `retry_after` has passed or something is given back, and checks again. The others sleep until they
//! are first, or until their deadline. So a queue is served in the order of arrival, and a key with
//! thousands of waiters costs one check at a time.
//!
//! What other processes give back cannot wake anyone here. Leases are given back all the time, so over
//! a remote store the first caller asks for one again every [`LEASE_POLL`].

mod block;
mod deadline;
#[cfg(test)]
mod tests;
mod timer;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tollgate_core::{Act, Allowed, Denied, Limit};

use crate::error::Error;
use crate::in_flight::InFlight;
use crate::lease::Lease;
use crate::limiter_store::LimiterStore;
use crate::memory::MemoryStore;
use crate::queues::Waiter;
use crate::request::{OwnedCheck, Request};
use block::block_on;
use deadline::Deadline;
use timer::Delay;

/// How often the first caller of a queue asks a remote store again for a lease.
const LEASE_POLL: Duration = Duration::from_millis(25);
/// Minimum time between two checks of a remote store. In a cluster a check can be denied because of
/// another that is rolled back, and could be repeated at once, again and again.
const MIN_POLL: Duration = Duration::from_millis(2);

impl<S: LimiterStore> Request<'_, S> {
    /// Waits until the check passes, at most as long as `timeout`, and takes its cost. Returns only
    /// when admitted.
    ///
    /// Callers that wait for the same keys through limiters of one store in this process are served in
    /// the order of their arrival; no order is promised between processes. If the limits cannot allow
    /// the request within `timeout`, this fails at once; behind other waiters it may take the full
    /// `timeout` to fail. A call of a remote store in flight at the deadline is completed first.
    ///
    /// Dropping the future leaves the queue. What a check in flight then takes from a remote
    /// store is given back: a lease is released, any other cost refunded. With an
    /// [id](Request::id) of your own nothing is given back, since a retry with it returns that admission.
    ///
    /// Time is real time, also if the store has a manual clock. A limit with `count-denied` counts every
    /// check that is made while waiting.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::Limiter;
    ///
    /// # async fn send(partner: Limiter) -> Result<(), Box<dyn std::error::Error>> {
    /// let timeout = Duration::from_secs(2);
    /// partner.key("orders").check_within(timeout).await?;
    /// // Send the order.
    /// # Ok(())
    /// # }
    /// # futures_executor::block_on(send("gcra 10/s".parse().unwrap())).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails if the request is not admitted in time
    /// ([`is_timeout`](Error::is_timeout)), or if its cost can never pass ([`denied`](Error::denied)).
    pub fn check_within(
        &self,
        timeout: Duration,
    ) -> impl Future<Output = Result<Allowed, Error>> + Send + use<S> {
        let (request, deadline) = (Arc::new(self.to_owned_check()), Deadline::after(timeout));
        async move { wait_for_check(&request, deadline).await }
    }

    /// Waits until a lease of a `concurrency` limit is free, at most as long as `timeout`, and takes it.
    /// Waits as [`check_within`](Request::check_within) does. A lease that another process releases is
    /// noticed within 50 milliseconds.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = tollgate::open("memory:").await?;
    /// let db = store.limiter("db", ["concurrency 20 ttl 30s"])?;
    /// let lease = db.key("reports").lease_within(Duration::from_secs(2)).await?;
    /// // At most 20 are here at once. The lease is released when dropped.
    /// drop(lease);
    /// # Ok(())
    /// # }
    /// # futures_executor::block_on(example()).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`check_within`](Request::check_within); also fails if no limit of the policy is a
    /// `concurrency` limit.
    pub fn lease_within(
        &self,
        timeout: Duration,
    ) -> impl Future<Output = Result<Lease<S>, Error>> + Send + use<S> {
        let (request, deadline) = (self.lease_check(), Deadline::after(timeout));
        async move {
            let request = request?;
            let allowed = wait_for_check(&request, deadline).await?;
            Ok(Lease::new(request, allowed))
        }
    }
}

impl Request<'_, MemoryStore> {
    /// Waits as [`check_within`](Request::check_within) does, by blocking the thread. Both use the same
    /// queues. Do not call it from async code: it would block the runtime.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter = "gcra 1000/s burst 1".parse()?;
    /// for _ in 0..5 {
    ///     limiter.key("partner").blocking_check_within(Duration::from_secs(60))?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`check_within`](Request::check_within).
    pub fn blocking_check_within(&self, timeout: Duration) -> Result<Allowed, Error> {
        block_on(self.check_within(timeout))
    }

    /// Waits as [`lease_within`](Request::lease_within) does, by blocking the thread. Do not call it
    /// from async code.
    ///
    /// # Errors
    /// As [`lease_within`](Request::lease_within).
    pub fn blocking_lease_within(&self, timeout: Duration) -> Result<Lease, Error> {
        block_on(self.lease_within(timeout))
    }
}

async fn wait_for_check<S: LimiterStore>(
    kept: &Arc<OwnedCheck<S>>,
    deadline: Deadline,
) -> Result<Allowed, Error> {
    let request = kept.as_request();
    let queues = request.limiter().queues();
    let has_queue = request.with_op(Act::Check, |op| queues.has_queue(op))?;
    let mut last = None;
    if !has_queue {
        match InFlight::check(kept).await?.into_result() {
            Ok(allowed) => return Ok(allowed),
            Err(denied) => last = Some(denied),
        }
    } else if !request.limiter().store().is_remote() {
        // Only tells whether waiting makes sense. Over a remote store only the first caller asks.
        last = request.apply_async(Act::Peek).await?.into_result().err();
    }
    if let Some(error) = last.and_then(|denied| gives_up(&request, denied, deadline)) {
        return Err(error);
    }
    let waiter = request.with_op(Act::Check, |op| queues.join(op))?;
    if !is_first(&waiter, deadline).await {
        return Err(Error::timed_out(deadline.timeout(), last));
    }
    // Before the check, so that nothing that is given back after it is missed.
    let returns = request.with_op(Act::Check, |op| queues.watch(op))?;
    loop {
        let denied = match InFlight::check(kept).await?.into_result() {
            Ok(allowed) => return Ok(allowed),
            Err(denied) => denied,
        };
        if let Some(error) = gives_up(&request, denied, deadline) {
            return Err(error);
        }
        sleep(&returns, next_check(&request, &denied).min(deadline.remaining())).await;
    }
}

/// Returns the error of a wait that makes no sense any more; `None` if the caller goes on waiting.
fn gives_up<S: LimiterStore>(
    request: &Request<'_, S>,
    denied: Denied,
    deadline: Deadline,
) -> Option<Error> {
    let Some(wait) = denied.retry_after() else { return Some(denied.into()) };
    let left = deadline.remaining();
    let too_long = left < wait.into() && !waits_for_lease(request, &denied);
    (too_long || left.is_zero()).then(|| Error::timed_out(deadline.timeout(), Some(denied)))
}

/// Returns whether the request waits for a lease, whose holder may release it before it expires.
fn waits_for_lease<S: LimiterStore>(request: &Request<'_, S>, denied: &Denied) -> bool {
    let limit = request.limiter().policy().limits().get(denied.decision().bound_by);
    limit.is_some_and(Limit::gives_leases)
}

/// Returns after which time another check makes sense if nothing is given back in this process.
fn next_check<S: LimiterStore>(request: &Request<'_, S>, denied: &Denied) -> Duration {
    let wait = denied.retry_after().map_or(Duration::MAX, Duration::from);
    match request.limiter().store().is_remote() {
        false => wait,
        true if waits_for_lease(request, denied) => wait.clamp(MIN_POLL, LEASE_POLL),
        true => wait.max(MIN_POLL),
    }
}

/// Waits until the caller is first in its queue. Returns false if the deadline comes before.
async fn is_first(waiter: &Waiter<'_>, deadline: Deadline) -> bool {
    let mut timer = None;
    let turn = poll_fn(|cx| {
        if waiter.poll_first(cx).is_ready() {
            return Poll::Ready(true);
        }
        let timer = timer.get_or_insert_with(|| Delay::new(deadline.remaining()));
        Pin::new(timer).poll(cx).map(|()| false)
    });
    turn.await
}

/// Sleeps until something is given back, or for this long.
async fn sleep(returns: &[Waiter<'_>], wait: Duration) {
    let mut timer = Delay::new(wait);
    let woken = poll_fn(|cx| {
        let notified = returns.iter().filter(|waiter| waiter.poll_notified(cx).is_ready()).count();
        if notified > 0 { Poll::Ready(()) } else { Pin::new(&mut timer).poll(cx) }
    });
    woken.await;
}
