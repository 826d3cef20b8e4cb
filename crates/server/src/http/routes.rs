//! Which path leads where.

use tollgate_core::Act;

use super::Method;

/// What a request is for.
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

/// What can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Alive,
    Ready,
    Metrics,
    Policies,
    OpenApi,
}

/// Why a request leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRoute {
    Path,
    /// The path is known, but only for these methods.
    Method(&'static str),
}

/// A target without the scheme and the host that it may begin with.
pub(super) fn relative(target: &str) -> &str {
    let rest = ["http://", "https://"].iter().find_map(|scheme| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    });
    match rest {
        Some(rest) => rest.find(['/', '?']).and_then(|at| rest.get(at..)).unwrap_or("/"),
        None => target,
    }
}

/// The route of a path.
///
/// # Errors
/// If there is none.
pub(super) fn find(method: Method, path: &str) -> Result<Route, NoRoute> {
    let route = match path {
        "/check" => return Ok(Route::Proxy),
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
        (Route::Page(_), Method::Get | Method::Head) => Ok(route),
        (Route::Page(_), _) => Err(NoRoute::Method("GET, HEAD")),
        (_, Method::Post) => Ok(route),
        _ => Err(NoRoute::Method("POST")),
    }
}
