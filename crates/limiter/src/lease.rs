//! Leases: places of a `concurrency` limit that are given back by themselves.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::Decision;

use crate::error::Error;
use crate::request::{OwnedRequest, Request};

/// The answer to [`Request::lease`].
#[derive(Debug)]
#[non_exhaustive]
#[must_use = "a lease that is dropped is given back at once"]
pub struct Leased {
    /// What the check was answered.
    pub decision: Decision,
    /// What is held until it is dropped; `None` if denied.
    pub lease: Option<Lease>,
}

/// Something that is held, of a `concurrency` limit: [`Request::lease`] makes one. Dropped, it is
/// given back, also by a thread that panics.
///
/// A lease ends by itself when the `ttl` of its limit has passed, so that a holder that is killed,
/// or forgets its lease, blocks its place no longer than that. So whoever may hold a lease longer
/// than the `ttl` must [renew](Lease::renew) it before; otherwise another may be let in while the
/// first is still at work.
///
/// It can be sent to another thread, and be renewed by one while another works.
#[derive(Debug)]
#[must_use = "a lease that is dropped is given back at once"]
pub struct Lease {
    request: OwnedRequest,
    id: Box<[u8]>,
    /// Whether it was given back already.
    over: bool,
}

impl Request<'_> {
    /// Checks, and holds what was taken of a `concurrency` limit until the lease is dropped. A
    /// cost of n takes n places, which are given back together.
    ///
    /// The policy may have other limits too: what was taken of those stays taken. The lease goes
    /// by the [id](Request::id) of the request, or by one that is made for it. Asking
    /// again under the same id within a minute, and while the lease lasts, answers as the first time,
    /// with a lease that is the same. So who has waited for room under an id gets the lease of what
    /// was taken by asking for it under that id. Later it takes another place.
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter = "concurrency 2 ttl 30s".parse()?;
    /// let first = limiter.key("db").lease()?.lease;
    /// let second = limiter.key("db").lease()?.lease;
    /// assert!(first.is_some() && second.is_some());
    /// assert!(limiter.key("db").lease()?.lease.is_none());
    ///
    /// drop(first);
    /// assert!(limiter.key("db").lease()?.lease.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn lease(&self) -> Result<Leased, Error> {
        let mut request = self.to_owned_request();
        let id = request.id.take().unwrap_or_else(fresh_id);
        let decision = request.as_request().id(&id).check()?;
        let lease = decision.allowed.then(|| Lease { request, id, over: false });
        Ok(Leased { decision, lease })
    }
}

impl Lease {
    /// Keeps it alive for another `ttl` from now. One that has ended already stays ended, since its
    /// place may be another's by now, and the decision does not tell: it is allowed in any case. So
    /// renew in good time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Clock, Limiter, MemoryStore};
    ///
    /// let clock = Clock::manual();
    /// let store = MemoryStore::builder().clock(clock.clone()).build()?;
    /// let limiter = Limiter::parse(["concurrency 1 ttl 30s"])?.with_store(store);
    ///
    /// let lease = limiter.key("report").lease()?.lease.expect("nobody else holds it");
    /// clock.advance(Duration::from_secs(20));
    /// lease.renew()?;
    /// clock.advance(Duration::from_secs(20));
    /// assert!(limiter.key("report").lease()?.lease.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn renew(&self) -> Result<Decision, Error> {
        self.request().renew()
    }

    /// Gives it back, as dropping it does, and answers what is free then.
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter = "concurrency 2 ttl 30s".parse()?;
    /// let lease = limiter.key("db").lease()?.lease.expect("nobody holds any");
    /// assert_eq!(lease.release()?.remaining, Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn release(mut self) -> Result<Decision, Error> {
        self.over = true;
        self.request().release()
    }

    /// What it goes by: the id of the request, or the one that was made for it.
    #[must_use]
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    fn request(&self) -> Request<'_> {
        self.request.as_request().id(&self.id)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.over {
            // There is nobody to tell: if it fails, the lease ends after its `ttl`.
            let _ = self.request().release();
        }
    }
}

/// An id that no other lease has. Snapshots keep leases beyond the process that took them, so the
/// number of the lease is not enough.
fn fresh_id() -> Box<[u8]> {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));
    static LEASES: AtomicU64 = AtomicU64::new(0);
    let number = LEASES.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}-{number:x}", *PROCESS).into_bytes().into()
}
