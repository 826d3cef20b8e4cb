//! The store: operations become calls of a script, and its answers decisions.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_core::{Answered, Decision, Op, Store, StoreError, Time};

use crate::call::{Call, Part, When, mistake};
use crate::connect::{Builder, ConnectError};
use crate::keys::Prefix;
use crate::link::Link;
use crate::reply::{Decided, Reply};
use crate::script::Scripts;

/// How often a script may ask for other windows of the calendar: once for each limit is enough, unless
/// the store's clock jumps about.
const MOST_ASKS: usize = 64;

/// Limits over Redis, Valkey or Redis Cluster.
///
/// Cheap to share: put it in an `Arc`. Connections are made when they are needed and made again when
/// they break; all callers share them.
pub struct RedisStore {
    pub(crate) link: Link,
    pub(crate) prefix: Prefix,
    pub(crate) scripts: Scripts,
}

impl std::fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisStore").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl RedisStore {
    /// The store at a URL: `redis://host:port`, `rediss://…` (TLS), `redis+cluster://host:port,…` or
    /// `redis+sentinel://host:port,…/name`.
    ///
    /// # Errors
    /// If the URL is none of these, or nobody answers there.
    pub async fn connect(url: &str) -> Result<RedisStore, ConnectError> {
        RedisStore::builder(url).connect().await
    }

    /// The same, with more to say about it.
    #[must_use]
    pub fn builder(url: &str) -> Builder {
        Builder::new(url)
    }

    async fn answer_all(
        &self,
        ops: &[Op<'_>],
        at: Option<Time>,
        out: &mut [Result<Decision, StoreError>],
    ) {
        // What is counted in one place is sent together, up to where something is not.
        let mut together: Vec<(Part<'_, '_>, &mut Result<Decision, StoreError>)> = Vec::new();
        for (op, out) in ops.iter().zip(out) {
            if let Some(mistake) = mistake(op) {
                *out = Err(mistake);
                continue;
            }
            let mut places = self.link.places(op, &self.prefix);
            if places.len() > 1 {
                self.answer_together(std::mem::take(&mut together), at).await;
                *out = self.answer_apart(op, &places, at).await;
            } else {
                let positions = Cow::Owned(places.pop().unwrap_or_default());
                together.push((Part { op: *op, positions, answers: None }, out));
            }
        }
        self.answer_together(together, at).await;
    }

    async fn answer_together(
        &self,
        together: Vec<(Part<'_, '_>, &mut Result<Decision, StoreError>)>,
        at: Option<Time>,
    ) {
        let (parts, out): (Vec<_>, Vec<_>) = together.into_iter().unzip();
        let decided = self.decide(&parts, at).await;
        for ((part, out), decided) in parts.iter().zip(out).zip(decided) {
            *out = decided.map(|decided| Decided::explain(vec![decided], part.op.act.asks()));
        }
    }

    /// Has each part decided where it is counted; those of one place in their order.
    pub(crate) async fn decide(
        &self,
        parts: &[Part<'_, '_>],
        at: Option<Time>,
    ) -> Vec<Result<Decided, StoreError>> {
        let around = at.unwrap_or_else(own_time);
        let when = |part: &Part<'_, '_>| When { at, windows: vec![around; part.op.items.len()] };
        let mut whens: Vec<When> = parts.iter().map(when).collect();
        let mut out: Vec<Option<Result<Decided, StoreError>>> = parts.iter().map(|_| None).collect();
        for _ in 0..MOST_ASKS {
            if out.iter().all(Option::is_some) {
                break;
            }
            self.ask(parts, &mut whens, &mut out).await;
        }
        let lost = || Err(StoreError::unavailable("the store's clock is never where it was"));
        out.into_iter().map(|out| out.unwrap_or_else(lost)).collect()
    }

    /// Asks for those that have no answer yet.
    async fn ask(
        &self,
        parts: &[Part<'_, '_>],
        whens: &mut [When],
        out: &mut [Option<Result<Decided, StoreError>>],
    ) {
        let open = parts.iter().zip(whens).zip(out).filter(|(_, out)| out.is_none());
        let (open, calls): (Vec<_>, Vec<Call>) = open
            .map(|((part, when), out)| {
                let call = Call::new(part, when, &self.prefix, &self.scripts);
                ((when, out), call)
            })
            .unzip();
        let answers = self.link.send(&calls).await;
        for (((when, out), call), answer) in open.into_iter().zip(&calls).zip(answers) {
            *out = match answer.and_then(|bytes| Reply::read(&bytes, &call.asked)) {
                Ok(Reply::Decided(decided)) => Some(Ok(decided)),
                Ok(Reply::Overdrawn) => Some(Err(StoreError::overdrawn())),
                Ok(Reply::Again(around, position)) => {
                    if let Some(windows) = when.windows.get_mut(position) {
                        *windows = around;
                    }
                    None
                }
                Err(error) => Some(Err(error)),
            };
        }
    }
}

/// Only for choosing which windows of the calendar to send along.
fn own_time() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).ok().and_then(Time::from_micros).unwrap_or(Time::MAX)
}

impl Store for RedisStore {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Answered<'a> {
        Answered::Later(Box::pin(self.answer_all(ops, at, out)))
    }
}
