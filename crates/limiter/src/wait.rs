//! Waiting until a check passes, in any async runtime or in none.
//!
//! A caller checks at once if its queue is empty. If it is denied, or finds other callers waiting for
//! the same keys, it joins their queue. Only the first caller of a queue checks: it sleeps until
//! `retry_after` has passed or something is given back, and checks again. The others sleep until they
//! are first or their timeout has passed. A caller that leaves the front of a queue, allowed, denied
//! or dropped, wakes the next.

mod block;
mod deadline;
#[cfg(test)]
mod tests;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_timer::Delay;
use tollgate_core::{Act, Algorithm, Decision};

use crate::error::Error;
use crate::queues::Waiter;
use crate::request::Request;
use block::block_on;
use deadline::Deadline;

impl Request<'_> {
    /// Waits until a check passes, up to `timeout` from now, and returns its decision.
    ///
    /// The decision is a denial if the timeout has passed, or at once if waiting cannot help:
    /// `retry_after` is longer than the timeout, or `None`. A lease of a `concurrency` limit may be
    /// released at any time, so this waits for it even if its `ttl` is longer.
    ///
    /// # First come, first served
    ///
    /// All callers that wait for the same keys under the same policy name on one store are in one
    /// queue, whichever limiter they use. A caller joins the queue when the future is first polled,
    /// and leaves it when the future is dropped, which takes no cost. A caller that waits for a large
    /// cost also delays the callers behind it. Callers that only [check](Request::check) do not queue,
    /// and may be allowed in between.
    ///
    /// A caller that is still in the queue when its timeout has passed is denied with the numbers of a
    /// [peek](Request::peek).
    ///
    /// # Details
    ///
    /// The future borrows nothing and needs no runtime: spawn it, or await it anywhere. A release,
    /// refund, settle or reset through a limiter on the same store is noticed at once. The timeout is
    /// in real time, also if the store has a manual clock. A limit with `count-denied` counts every
    /// check that is made while waiting.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::Limiter;
    ///
    /// # async fn send(partner: Limiter) -> Result<(), Box<dyn std::error::Error>> {
    /// let timeout = Duration::from_secs(2);
    /// if partner.key("orders").until_ready(timeout).await?.allowed {
    ///     // Send the order.
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn until_ready(
        &self,
        timeout: Duration,
    ) -> impl Future<Output = Result<Decision, Error>> + Send + use<> {
        let request = self.to_owned_request();
        let deadline = Deadline::after(timeout);
        async move { wait_for_check(&request.as_request(), deadline).await }
    }

    /// Waits as [`until_ready`](Request::until_ready) does, by blocking the thread. Both use the same
    /// queues. Do not call it from async code: it would block the runtime.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter = "gcra 1000/s burst 1".parse()?;
    /// for _ in 0..5 {
    ///     assert!(limiter.key("partner").wait(Duration::from_secs(60))?.allowed);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn wait(&self, timeout: Duration) -> Result<Decision, Error> {
        block_on(wait_for_check(self, Deadline::after(timeout)))
    }
}

async fn wait_for_check(request: &Request<'_>, deadline: Deadline) -> Result<Decision, Error> {
    let queues = request.limiter().queues();
    let has_queue = request.with_op(Act::Check, |op| queues.has_queue(op))?;
    let decision = if has_queue { denied(request)? } else { request.check()? };
    if is_final(request, &decision, deadline) {
        return Ok(decision);
    }
    let waiter = request.with_op(Act::Check, |op| queues.join(op))?;
    if !is_first(&waiter, deadline).await {
        return denied(request);
    }
    // Before the check, so that nothing that is given back after it is missed.
    let returns = request.with_op(Act::Check, |op| queues.watch(op))?;
    loop {
        let decision = request.check()?;
        if is_final(request, &decision, deadline) {
            return Ok(decision);
        }
        sleep(&returns, &decision, deadline).await;
    }
}

/// Returns a denial for a caller that is not first in its queue, whatever a check would decide.
fn denied(request: &Request<'_>) -> Result<Decision, Error> {
    let mut decision = request.peek()?;
    decision.allowed = false;
    Ok(decision)
}

/// Returns whether there is nothing more to wait for.
fn is_final(request: &Request<'_>, decision: &Decision, deadline: Deadline) -> bool {
    let left = deadline.remaining();
    let too_long = match decision.retry_after {
        Some(wait) => left < wait.into() && !waits_for_lease(request, decision),
        None => true,
    };
    decision.allowed || too_long || left.is_zero()
}

/// Returns whether the request waits for a lease, whose holder may release it before it expires.
fn waits_for_lease(request: &Request<'_>, decision: &Decision) -> bool {
    let limit = request.limiter().policy().limits().get(decision.bound_by);
    limit.is_some_and(|limit| limit.algorithm() == Algorithm::Concurrency)
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

/// Sleeps until another check makes sense, or until the deadline.
async fn sleep(returns: &[Waiter<'_>], decision: &Decision, deadline: Deadline) {
    let wait = decision.retry_after.map_or(Duration::MAX, Duration::from);
    let mut timer = Delay::new(wait.min(deadline.remaining()));
    let woken = poll_fn(|cx| {
        let notified = returns.iter().filter(|waiter| waiter.poll_notified(cx).is_ready()).count();
        if notified > 0 { Poll::Ready(()) } else { Pin::new(&mut timer).poll(cx) }
    });
    woken.await;
}
