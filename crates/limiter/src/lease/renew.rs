//! A lease that renews itself while work goes on.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_timer::Delay;
use tollgate_core::{Act, Limit};

use super::Lease;
use crate::error::Error;
use crate::limiter_store::LimiterStore;

/// A lease is renewed this many times before it would end, so that one renewal may fail.
const RENEWALS_PER_TTL: u32 = 3;

impl<S: LimiterStore> Lease<S> {
    /// Does some work, and renews the lease meanwhile, so that it lasts as long as the work. Needs no
    /// runtime.
    ///
    /// If the lease is lost, because it could not be renewed for a whole `ttl`, the work is dropped:
    /// another caller may hold the lease by then.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = tollgate::open("memory:").await?;
    /// let reports = store.limiter("reports", ["concurrency 1 ttl 30s"])?;
    /// let lease = reports.key("daily").lease().await?;
    /// let pages = lease.renew_while(async { 12 }).await?;
    /// assert_eq!(pages, 12);
    /// # Ok(())
    /// # }
    /// # futures_executor::block_on(example()).unwrap();
    /// ```
    ///
    /// # Errors
    /// Fails if the lease was [lost](Error::is_lease_lost) before the work was done.
    pub async fn renew_while<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let mut work = pin!(work);
        let mut renewing = pin!(self.renew_until_lost());
        poll_fn(|context| {
            if let Poll::Ready(output) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(output));
            }
            renewing.as_mut().poll(context).map(|()| Err(Error::lease_lost()))
        })
        .await
    }

    /// Renews the lease again and again, and returns when it is lost.
    async fn renew_until_lost(&self) {
        let (ttl, mut renewed) = (self.ttl(), self.taken);
        loop {
            let asked = Instant::now();
            let result = self.request.as_request().apply_async(Act::Renew).await;
            if renewed.elapsed() >= ttl {
                return;
            }
            match result {
                Ok(decision) if decision.allowed => renewed = asked,
                Ok(_) => return,
                // The next renewal may succeed.
                Err(_) => {}
            }
            Delay::new(ttl / RENEWALS_PER_TTL).await;
        }
    }

    /// Returns the shortest time after which a part of the lease ends.
    fn ttl(&self) -> Duration {
        let limits = self.request.limiter().policy().limits().iter();
        let leases = limits.filter(|limit| limit.gives_leases());
        leases.filter_map(Limit::full_reset_after).min().map_or(Duration::MAX, Duration::from)
    }
}
