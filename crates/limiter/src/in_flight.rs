//! A check that is under way, whose caller may go away before the store has answered.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tollgate_core::{Act, Decision};

use crate::background::Background;
use crate::error::Error;
use crate::limiter_store::LimiterStore;
use crate::request::OwnedCheck;

type Checking = Pin<Box<dyn Future<Output = Result<Decision, Error>> + Send>>;

/// A check that is under way. If it is dropped before the store has answered, it goes on in the
/// background, and what it takes is given back. So is a lease whose check got no answer: its
/// caller does not know the id.
pub(crate) struct InFlight<S: LimiterStore> {
    request: Arc<OwnedCheck<S>>,
    checking: Option<Checking>,
    background: Background,
}

impl<S: LimiterStore> InFlight<S> {
    pub(crate) fn check(request: &Arc<OwnedCheck<S>>) -> InFlight<S> {
        let (request, checked) = (Arc::clone(request), Arc::clone(request));
        let checking: Checking =
            Box::pin(async move { checked.as_request().apply_async(Act::Check).await });
        InFlight { request, checking: Some(checking), background: Background::current() }
    }
}

impl<S: LimiterStore> Future for InFlight<S> {
    type Output = Result<Decision, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(checking) = &mut self.checking else { return Poll::Pending };
        let result = ready!(checking.as_mut().poll(context));
        self.checking = None;
        if self.request.has_own_id() && result.as_ref().is_err_and(Error::is_unavailable) {
            let request = Arc::clone(&self.request);
            self.background.finish(Box::pin(async move { give_back(&request).await }));
        }
        Poll::Ready(result)
    }
}

impl<S: LimiterStore> Drop for InFlight<S> {
    fn drop(&mut self) {
        let Some(checking) = self.checking.take() else { return };
        let request = Arc::clone(&self.request);
        self.background.finish(Box::pin(async move {
            let may_have_taken = match checking.await {
                Ok(decision) => decision.allowed,
                Err(error) => error.is_unavailable() && request.has_own_id(),
            };
            if may_have_taken {
                give_back(&request).await;
            }
        }));
    }
}

/// Gives back what an allowed check has taken.
async fn give_back<S: LimiterStore>(request: &OwnedCheck<S>) {
    let act = match request.id() {
        None => Act::Refund,
        Some(_) if request.has_own_id() => Act::Release,
        // The caller's id makes a retry safe: it returns this admission. The retry may have been made
        // already, so that releasing would end a lease that is held.
        Some(_) => return,
    };
    // The error cannot be returned. What was taken then leaves as any other cost does.
    let _ = request.as_request().apply_async(act).await;
}
