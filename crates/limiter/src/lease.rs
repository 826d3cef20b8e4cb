//! Leases of a `concurrency` limit that are released when dropped.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::Decision;

use crate::error::Error;
use crate::request::{OwnedRequest, Request};

/// The result of [`Request::lease`].
#[derive(Debug)]
#[non_exhaustive]
#[must_use = "a lease is released when it is dropped"]
pub struct Leased {
    /// The decision of the check.
    pub decision: Decision,
    /// The lease; `None` if the check was denied.
    pub lease: Option<Lease>,
}

/// A lease of a `concurrency` limit. Created by [`Request::lease`]. It is released when dropped, also
/// if the thread panics.
///
/// A lease ends by itself when the `ttl` of its limit has passed, so that a holder that is killed, or
/// leaks its lease, blocks others no longer than that. A holder that may need longer than the `ttl`
/// must [renew](Lease::renew) the lease in time; otherwise the limit may give another lease while the
/// first holder is still at work.
///
/// A lease can be sent to another thread, and one thread can renew it while another works.
#[derive(Debug)]
#[must_use = "a lease is released when it is dropped"]
pub struct Lease {
    request: OwnedRequest,
    id: Box<[u8]>,
    /// Whether it was released already.
    released: bool,
}

impl Request<'_> {
    /// Checks, and returns a lease of what was taken from a `concurrency` limit. A check of cost n
    /// takes n leases, which are released together.
    ///
    /// The policy may have other limits too: the cost taken from those is not given back. The lease
    /// has the [id](Request::id) of the request, or a new one. Calling this again with the same id
    /// within a minute, while the lease lasts, takes nothing and returns the same decision and the
    /// same lease. So after waiting for a check with an id, call this with that id to get the lease of
    /// what was taken. After that time it takes another lease.
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
        let id = request.id.take().unwrap_or_else(new_id);
        let decision = request.as_request().id(&id).check()?;
        let lease = decision.allowed.then(|| Lease { request, id, released: false });
        Ok(Leased { decision, lease })
    }
}

impl Lease {
    /// Keeps the lease alive for another `ttl` from now. A lease that has ended stays ended, since
    /// another holder may have taken its place. The decision does not show this: it is allowed in any
    /// case. So renew in time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Clock, Limiter, MemoryStore};
    ///
    /// let clock = Clock::manual();
    /// let store = MemoryStore::builder().clock(clock.clone()).build()?;
    /// let limiter = Limiter::parse(["concurrency 1 ttl 30s"])?.with_store(store);
    ///
    /// let lease = limiter.key("report").lease()?.lease.expect("the only lease");
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

    /// Releases the lease, as dropping it does, and returns the decision, which shows what is free
    /// now.
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter = "concurrency 2 ttl 30s".parse()?;
    /// let lease = limiter.key("db").lease()?.lease.expect("two are free");
    /// assert_eq!(lease.release()?.remaining, Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn release(mut self) -> Result<Decision, Error> {
        self.released = true;
        self.request().release()
    }

    /// Returns the id of the lease: the id of the request, or the one that was created for it.
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
        if !self.released {
            // The error cannot be returned. If this fails, the lease ends after its `ttl`.
            let _ = self.request().release();
        }
    }
}

/// Returns an id that no other lease has. Snapshots keep leases beyond the process that took them, so
/// a counter is not enough.
fn new_id() -> Box<[u8]> {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));
    static LEASES: AtomicU64 = AtomicU64::new(0);
    let number = LEASES.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}-{number:x}", *PROCESS).into_bytes().into()
}
