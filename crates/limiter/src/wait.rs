//! Waiting for one's turn, in any async runtime or in none.
//!
//! Who finds nobody waiting asks at once. Who is denied, or finds others waiting for the same keys,
//! joins their queue. Only the first of a queue asks the limiter: it sleeps as long as it is told
//! to wait, or until something is given back, and asks again. The others sleep until it is their
//! turn or their time is up. Whoever leaves the front of a queue, admitted, denied or dropped,
//! wakes the next.

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
use crate::queues::Place;
use crate::request::Request;
use block::block_on;
use deadline::Deadline;

impl Request<'_> {
    /// Waits until a check passes, at most as long as that from now on, and answers its decision.
    ///
    /// If the decision is a denial, the time was up, or it could be told at once that it would not
    /// be enough: `retry_after` is longer, or `None`. What is held of a `concurrency` limit may be
    /// given back at any time, so that is waited for even if its `ttl` is longer.
    ///
    /// # First come, first served
    ///
    /// All who wait for the same keys under the same policy name on one store are one queue, through
    /// whatever limiter. A place in it is taken when the future is first polled, and given up when it
    /// is dropped, which takes nothing else. Whoever waits for more than those behind makes them wait
    /// as well. Others who just [check](Request::check) do not queue, and may get in between.
    ///
    /// Who is still queued when the time is up is denied with the numbers of a [peek](Request::peek).
    ///
    /// # Details
    ///
    /// The future borrows nothing and needs no runtime: spawn it, or await it anywhere. What is
    /// given back by a release, refund, settle or reset of a limiter on the same store is noticed at
    /// once. Time is real time, also if the store goes by a manual clock. A limit with
    /// `count-denied` counts every time the limiter is asked.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::Limiter;
    ///
    /// # async fn send(partner: Limiter) -> Result<(), Box<dyn std::error::Error>> {
    /// let longest = Duration::from_secs(2);
    /// if partner.key("orders").until_ready(longest).await?.allowed {
    ///     // Send it.
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn until_ready(
        &self,
        longest: Duration,
    ) -> impl Future<Output = Result<Decision, Error>> + Send + use<> {
        let request = self.to_owned_request();
        let deadline = Deadline::after(longest);
        async move { admit(&request.as_request(), deadline).await }
    }

    /// The same as [`until_ready`](Request::until_ready) for a thread, which sleeps meanwhile. Both
    /// stand in the same queues. Not for async code: it would block its runtime.
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
    pub fn wait(&self, longest: Duration) -> Result<Decision, Error> {
        block_on(admit(self, Deadline::after(longest)))
    }
}

async fn admit(request: &Request<'_>, deadline: Deadline) -> Result<Decision, Error> {
    let queues = request.limiter().queues();
    let others = request.with_op(Act::Check, |op| queues.is_waited_for(op))?;
    let seen = if others { rejected(request)? } else { request.check()? };
    if is_over(request, &seen, deadline) {
        return Ok(seen);
    }
    let place = request.with_op(Act::Check, |op| queues.join(op))?;
    if !is_first(&place, deadline).await {
        return rejected(request);
    }
    // Before the limiter is asked, so that nothing that is given back afterwards is missed.
    let returns = request.with_op(Act::Check, |op| queues.watch(op))?;
    loop {
        let seen = request.check()?;
        if is_over(request, &seen, deadline) {
            return Ok(seen);
        }
        pause(&returns, &seen, deadline).await;
    }
}

/// A denial for one whose turn it is not, whatever a check would say.
fn rejected(request: &Request<'_>) -> Result<Decision, Error> {
    let mut decision = request.peek()?;
    decision.allowed = false;
    Ok(decision)
}

/// Whether there is nothing more to wait for.
fn is_over(request: &Request<'_>, seen: &Decision, deadline: Deadline) -> bool {
    let left = deadline.left();
    let too_long = match seen.retry_after {
        Some(wait) => left < wait.into() && !is_held(request, seen),
        None => true,
    };
    seen.allowed || too_long || left.is_zero()
}

/// Whether what it waits for is held by others, who may give it back before they must.
fn is_held(request: &Request<'_>, seen: &Decision) -> bool {
    let limit = request.limiter().policy().limits().get(seen.bound_by);
    limit.is_some_and(|limit| limit.algorithm() == Algorithm::Concurrency)
}

/// Whether its turn came before its time was up.
async fn is_first(place: &Place<'_>, deadline: Deadline) -> bool {
    let mut timer = None;
    let turn = poll_fn(|cx| {
        if place.poll_first(cx).is_ready() {
            return Poll::Ready(true);
        }
        let timer = timer.get_or_insert_with(|| Delay::new(deadline.left()));
        Pin::new(timer).poll(cx).map(|()| false)
    });
    turn.await
}

/// Sleeps until asking again makes sense, or the time is up.
async fn pause(returns: &[Place<'_>], seen: &Decision, deadline: Deadline) {
    let wait = seen.retry_after.map_or(Duration::MAX, Duration::from);
    let mut timer = Delay::new(wait.min(deadline.left()));
    let woken = poll_fn(|cx| {
        let called = returns.iter().filter(|place| place.poll_called(cx).is_ready()).count();
        if called > 0 { Poll::Ready(()) } else { Pin::new(&mut timer).poll(cx) }
    });
    woken.await;
}
