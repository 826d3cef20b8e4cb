//! A check that is under way, whose caller may go away before the store has answered.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tollgate_core::{Act, Algorithm, Decision};

use crate::background::Background;
use crate::error::Error;
use crate::limiter_store::LimiterStore;
use crate::request::KeptRequest;

type Checking = Pin<Box<dyn Future<Output = Result<Decision, Error>> + Send>>;

/// A check that is under way. If it is dropped before the store has answered, it goes on in the
/// background, and what it takes is given back.
pub(crate) struct InFlight<S: LimiterStore> {
    request: Arc<KeptRequest<S>>,
    checking: Option<Checking>,
    background: Background,
}

impl<S: LimiterStore> InFlight<S> {
    pub(crate) fn check(request: &Arc<KeptRequest<S>>) -> InFlight<S> {
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
        let result = checking.as_mut().poll(context);
        if result.is_ready() {
            self.checking = None;
        }
        result
    }
}

impl<S: LimiterStore> Drop for InFlight<S> {
    fn drop(&mut self) {
        let Some(checking) = self.checking.take() else { return };
        let request = Arc::clone(&self.request);
        self.background.finish(Box::pin(async move {
            if checking.await.is_ok_and(|decision| decision.allowed) {
                give_back(&request).await;
            }
        }));
    }
}

/// Gives back what an allowed check has taken.
async fn give_back<S: LimiterStore>(request: &KeptRequest<S>) {
    let act = match (request.id(), gives_leases(request)) {
        (Some(_), true) => Act::Release,
        // The id makes a retry safe: it returns this admission.
        (Some(_), false) => return,
        (None, _) => Act::Refund,
    };
    // The error cannot be returned. What was taken then leaves as any other cost does.
    let _ = request.as_request().apply_async(act).await;
}

/// Returns whether a limit of the policy gives leases.
pub(crate) fn gives_leases<S: LimiterStore>(request: &KeptRequest<S>) -> bool {
    let limits = request.limiter().policy().limits();
    limits.iter().any(|limit| limit.algorithm() == Algorithm::Concurrency)
}
