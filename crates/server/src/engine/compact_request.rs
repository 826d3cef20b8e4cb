//! A request as an operation keeps it: small, since every command of a pipeline is moved a few times.

use tollgate_core::{Act, Item, Key, Limit, Name, Op, Request, RequestError, item_of_key};

/// Nearly all requests have only the nameless key and a plain cost. A request that has more is in a box.
#[derive(Debug)]
pub(crate) enum CompactRequest<'a> {
    Plain { key: Key<'a>, cost: u64 },
    Full(Box<Request<'a>>),
}

impl<'a> CompactRequest<'a> {
    pub(crate) fn new(request: Request<'a>) -> CompactRequest<'a> {
        match request.as_plain() {
            Some((key, cost)) => CompactRequest::Plain { key, cost },
            None => CompactRequest::Full(Box::new(request)),
        }
    }

    /// Returns the key of a subject; `None` asks for the nameless key.
    pub(crate) fn key_of(&self, subject: Option<&str>) -> Option<&[u8]> {
        match self {
            CompactRequest::Plain { key, .. } => subject.is_none().then_some(key.as_bytes()),
            CompactRequest::Full(request) => request.key_of(subject),
        }
    }

    /// Returns a limit with the subject it counts and the cost it takes.
    pub(crate) fn item<'l>(&'l self, limit: &'l Limit) -> Result<Item<'l>, RequestError> {
        match self {
            CompactRequest::Plain { key, cost } => item_of_key(limit, *key, *cost),
            CompactRequest::Full(request) => request.item(limit),
        }
    }

    /// Returns the operation on these items of a policy.
    pub(crate) fn op<'o>(
        &'o self,
        policy: &'o Name,
        items: &'o [Item<'o>],
        act: Act,
    ) -> Result<Op<'o>, RequestError> {
        match self {
            CompactRequest::Plain { .. } => Ok(Op::check(policy, items).with_act(act)),
            CompactRequest::Full(request) => request.op(policy, items, act),
        }
    }
}
