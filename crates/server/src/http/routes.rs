//! Routes: what a method and a path stand for.

use hyper::Method;
use tollgate_core::Act;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// `POST /v1/check` and its like.
    Act(Act),
    /// `POST /v1/check/batch`
    Batch,
    /// `ANY /check`
    Proxy,
    Page(Page),
}

/// A page that can be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Alive,
    Ready,
    Metrics,
    Policies,
    OpenApi,
}

/// Why a request has no route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRoute {
    Path,
    /// The path has only these methods.
    Method(&'static str),
}

/// The path for proxies.
const PROXY: &str = "/check";

/// Returns whether the body of a request does not matter: a proxy may announce that of its client and not send it.
pub(super) fn ignores_body(path: &str) -> bool {
    path == PROXY
}

/// Returns the route of a method and a path.
///
/// # Errors
/// Fails if there is no such path, or it has other methods only.
pub(super) fn find(method: &Method, path: &str) -> Result<Route, NoRoute> {
    let route = match path {
        PROXY => return Ok(Route::Proxy),
        "/v1/check/batch" => Route::Batch,
        "/healthz" => Route::Page(Page::Alive),
        "/readyz" => Route::Page(Page::Ready),
        "/metrics" => Route::Page(Page::Metrics),
        "/v1/policies" => Route::Page(Page::Policies),
        "/openapi.json" => Route::Page(Page::OpenApi),
        path => {
            let act = path.strip_prefix("/v1/").and_then(Act::from_name);
            Route::Act(act.ok_or(NoRoute::Path)?)
        }
    };
    match (route, method) {
        (Route::Page(_), &Method::GET | &Method::HEAD) => Ok(route),
        (Route::Page(_), _) => Err(NoRoute::Method("GET, HEAD")),
        (_, &Method::POST) => Ok(route),
        _ => Err(NoRoute::Method("POST")),
    }
}
