//! What a request asks for: its checks, and how they are answered.

use hyper::header::ORIGIN;
use hyper::{HeaderMap, Method, Uri};
use smallvec::{SmallVec, smallvec};
use tollgate_core::{Act, LimitStatuses};

use super::check_request::CheckRequest;
use super::head::is_json;
use super::rejection::Rejection;
use super::routes::{self, Page, Route};
use super::{json_body, proxy_keys, query};
use crate::engine::operation::Operation;
use crate::engine::policies::Policies;

/// The operations of one request. Nearly all have one.
pub(super) type Operations<'a> = SmallVec<[Operation<'a>; 1]>;

/// A parsed request, whatever version of the protocol carried it.
pub(super) struct Call<'b> {
    pub(super) format: Format,
    pub(super) checks: SmallVec<[CheckRequest<'b>; 1]>,
}

/// How decisions are answered.
#[derive(Debug, Clone, Copy)]
pub(super) enum Format {
    /// One decision in JSON.
    One,
    /// Several decisions in JSON.
    Batch,
    /// One decision for a proxy, which reads the status: 200 if allowed, this one if denied.
    Proxy { deny_status: u16 },
    /// No decision but a page.
    Page(Page),
}

impl<'b> Call<'b> {
    /// Parses a request that has arrived whole.
    ///
    /// # Errors
    /// Fails if there is no such route, or if the body or the query is invalid.
    pub(super) fn parse(
        method: &Method,
        uri: &'b Uri,
        fields: &HeaderMap,
        body: &'b [u8],
        max_batch: usize,
    ) -> Result<Call<'b>, Rejection> {
        let call = |format, checks| Call { format, checks };
        Ok(match routes::find(method, uri.path())? {
            // Browsers add it for scripts of web pages.
            Route::Act(_) | Route::Batch if fields.contains_key(ORIGIN) => {
                return Err(Rejection::web_page());
            }
            Route::Act(_) | Route::Batch if !is_json(fields) => return Err(Rejection::not_json()),
            Route::Act(act) => call(Format::One, smallvec![json_body::one(act, body)?]),
            Route::Batch => {
                call(Format::Batch, json_body::many(Act::Check, body, max_batch)?.into())
            }
            Route::Proxy => {
                let (mut check, deny_status) = query::parse(uri.query().unwrap_or_default())?;
                proxy_keys::add(fields, &mut check)?;
                call(Format::Proxy { deny_status }, smallvec![check])
            }
            Route::Page(page) => call(Format::Page(page), SmallVec::new()),
        })
    }

    /// Returns the status of each limit of a check, if the client asked for it.
    pub(super) fn each(&self, index: usize) -> Option<&LimitStatuses> {
        self.checks.get(index)?.statuses.get().map(AsRef::as_ref)
    }

    /// Returns the operations of the checks.
    ///
    /// # Errors
    /// Fails if there is no such policy, or if a check does not fit it.
    pub(super) fn operations<'a>(
        &'a self,
        policies: &'a Policies,
    ) -> Result<Operations<'a>, Rejection> {
        if let Format::Page(page) = self.format {
            return Ok(page.operation().into_iter().collect());
        }
        let is_batch = matches!(self.format, Format::Batch);
        let operation = |(index, check): (usize, &'a CheckRequest<'b>)| {
            let wrong = |rejection: Rejection| match is_batch {
                true => rejection.of_check(index),
                false => rejection,
            };
            check.operation(policies).map_err(wrong)
        };
        self.checks.iter().enumerate().map(operation).collect()
    }
}
