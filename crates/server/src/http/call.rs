//! What a request asks for: its checks, and how they are answered.

use smallvec::{SmallVec, smallvec};
use tollgate_core::{Act, LimitStatuses};

use super::check_request::CheckRequest;
use super::rejection::Rejection;
use super::request::Request;
use super::routes::{self, Page, Route};
use super::{json_body, query};
use crate::engine::operation::Operation;
use crate::engine::policies::Policies;

/// The operations of one request. Nearly all have one.
pub(super) type Operations<'a> = SmallVec<[Operation<'a>; 1]>;

/// A parsed request.
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
    /// Parses a request.
    ///
    /// # Errors
    /// Fails if there is no such route, or if the body or the query is invalid.
    pub(super) fn parse(request: &Request<'b>, max_batch: usize) -> Result<Call<'b>, Rejection> {
        let (path, query) = request.target.split_once('?').unwrap_or((request.target, ""));
        let call = |format, checks| Call { format, checks };
        Ok(match routes::find(request.method, path)? {
            Route::Act(_) | Route::Batch if request.has_origin => {
                return Err(Rejection::web_page());
            }
            Route::Act(_) | Route::Batch if !request.is_json => return Err(Rejection::not_json()),
            Route::Act(act) => call(Format::One, smallvec![json_body::one(act, request.body)?]),
            Route::Batch => {
                let checks = json_body::many(Act::Check, request.body, max_batch)?;
                call(Format::Batch, checks.into())
            }
            Route::Proxy => {
                let (check, deny_status) = query::parse(query)?;
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
