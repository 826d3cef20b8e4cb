//! Leases of a `concurrency` limit that are released when dropped.

mod renew;

use std::sync::Arc;
use std::time::Instant;

use tollgate_core::{Act, Allowed, Decision};

use crate::any_store::AnyStore;
use crate::background::Background;
use crate::error::Error;
use crate::in_flight::InFlight;
use crate::limiter_store::LimiterStore;
use crate::memory::MemoryStore;
use crate::request::{OwnedCheck, Request};

/// A lease of a `concurrency` limit. Created by `lease` of a [`Request`]. It is released when dropped,
/// also if the thread panics.
///
/// A lease ends by itself when the `ttl` of its limit has passed, so that a holder that is killed, or
/// leaks its lease, blocks others no longer than that. A holder that may need longer than the `ttl`
/// must renew the lease in time; otherwise the limit may give another lease while the first holder is
/// still at work. `renew_while` does so by itself.
///
/// On a [`MemoryStore`] dropping a lease releases it at once. On an [`AnyStore`] it queues the release,
/// on the tokio runtime in which the lease was taken, and does not block; `release` awaits it and
/// reports. If the release cannot be sent, the lease ends after its `ttl`.
///
/// A lease can be sent to another thread, and one thread can renew it while another works.
#[must_use = "a lease is released when it is dropped"]
pub struct Lease<S: LimiterStore = MemoryStore> {
    /// With the id of the lease.
    request: Arc<OwnedCheck<S>>,
    decision: Decision,
    background: Background,
    /// When it was taken, or a little later.
    taken: Instant,
    /// Whether it was released already.
    released: bool,
}

impl<S: LimiterStore> Request<'_, S> {
    /// Returns the check of a lease.
    pub(crate) fn lease_check(&self) -> Result<Arc<OwnedCheck<S>>, Error> {
        if !self.gives_leases() {
            return Err(Error::no_leases());
        }
        Ok(Arc::new(self.to_owned_check()))
    }
}

impl Request<'_, MemoryStore> {
    /// Checks, and returns a lease of what was taken from a `concurrency` limit. A check of cost n
    /// takes n leases, which are released together.
    ///
    /// The policy may have other limits too: the cost taken from those is not given back. The lease
    /// has the [id](Request::id) of the request, or a new one. Calling this again with the same id
    /// within a minute, while the lease lasts, takes nothing and returns the same decision and the
    /// same lease. After that time it takes another lease.
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter = "concurrency 2 ttl 30s".parse()?;
    /// let first = limiter.key("db").lease()?;
    /// let second = limiter.key("db").lease()?;
    /// assert!(limiter.key("db").lease().unwrap_err().denied().is_some());
    ///
    /// drop(first);
    /// let third = limiter.key("db").lease()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails if the check is [denied](Error::denied), or if no limit
    /// of the policy is a `concurrency` limit.
    pub fn lease(&self) -> Result<Lease, Error> {
        let request = self.lease_check()?;
        let decision = request.as_request().check()?;
        Ok(Lease::new(request, decision.into_result()?))
    }
}

impl Request<'_, AnyStore> {
    /// Checks, and returns a lease of what was taken from a `concurrency` limit, as `lease` on a
    /// [`MemoryStore`] does. If the future is dropped before the store has answered, the lease it may
    /// have taken is released.
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails if the check is [denied](Error::denied), or if no limit
    /// of the policy is a `concurrency` limit.
    pub async fn lease(&self) -> Result<Lease<AnyStore>, Error> {
        let request = self.lease_check()?;
        let decision = InFlight::check(&request).await?;
        Ok(Lease::new(request, decision.into_result()?))
    }
}

impl<S: LimiterStore> Lease<S> {
    pub(crate) fn new(request: Arc<OwnedCheck<S>>, allowed: Allowed) -> Lease<S> {
        let (background, taken) = (Background::current(), Instant::now());
        Lease { request, decision: *allowed, background, taken, released: false }
    }

    /// Returns the decision of the check that took the lease.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns the id of the lease: the id of the request, or the one that was created for it.
    #[must_use]
    pub fn id(&self) -> &[u8] {
        self.request.id().unwrap_or_default()
    }
}

impl Lease<MemoryStore> {
    /// Keeps the lease alive for another `ttl` from now. A lease that has ended stays ended, since
    /// another holder may have taken its place: then this is an error, and the work that it was taken
    /// for should stop.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Clock, MemoryStore};
    ///
    /// let clock = Clock::manual();
    /// let store = MemoryStore::builder().clock(clock.clone()).build()?;
    /// let limiter = store.limiter("reports", ["concurrency 1 ttl 30s"])?;
    ///
    /// let lease = limiter.key("report").lease()?;
    /// clock.advance(Duration::from_secs(20));
    /// lease.renew()?;
    /// clock.advance(Duration::from_secs(20));
    /// assert!(limiter.key("report").lease().is_err());
    ///
    /// clock.advance(Duration::from_secs(10));
    /// assert!(lease.renew().unwrap_err().is_lease_lost());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails if the lease was [lost](Error::is_lease_lost).
    pub fn renew(&self) -> Result<Allowed, Error> {
        renewed(self.request.as_request().renew()?)
    }

    /// Releases the lease, as dropping it does, and returns the decision, which shows what is free
    /// now, and is not allowed if the lease had ended before.
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter = "concurrency 2 ttl 30s".parse()?;
    /// let lease = limiter.key("db").lease()?;
    /// assert_eq!(lease.release()?.remaining, Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn release(mut self) -> Result<Decision, Error> {
        self.released = true;
        self.request.as_request().release()
    }
}

impl Lease<AnyStore> {
    /// Keeps the lease alive for another `ttl` from now, as `renew` on a [`MemoryStore`] does.
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails if the lease was [lost](Error::is_lease_lost).
    pub async fn renew(&self) -> Result<Allowed, Error> {
        renewed(self.request.as_request().renew().await?)
    }

    /// Releases the lease, and returns the decision, which shows what is free now, and is not allowed
    /// if the lease had ended before. If the future is dropped before the store has answered, the
    /// release goes on in the background.
    ///
    /// # Errors
    /// As [`check`](Request::check). If the store is unavailable, the lease ends after its `ttl`.
    pub async fn release(mut self) -> Result<Decision, Error> {
        let result = self.request.as_request().release().await;
        self.released = true;
        result
    }
}

/// Returns the decision of a renewal, or the error for a lease that is not held any more.
fn renewed(decision: Decision) -> Result<Allowed, Error> {
    decision.into_result().map_err(|_| Error::lease_lost())
}

impl<S: LimiterStore> Drop for Lease<S> {
    fn drop(&mut self) {
        if self.released {
            return;
        }
        let request = Arc::clone(&self.request);
        // The error cannot be returned. If this fails, the lease ends after its `ttl`.
        let release = async move { drop(request.as_request().apply_async(Act::Release).await) };
        match self.request.limiter().store().is_remote() {
            true => self.background.finish(Box::pin(release)),
            false => Background::finish_now(release),
        }
    }
}

impl<S: LimiterStore> std::fmt::Debug for Lease<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = String::from_utf8_lossy(self.id());
        f.debug_struct("Lease").field("id", &id).field("released", &self.released).finish()
    }
}
