//! The store: operations become calls of a script, and its answers decisions.

use tollgate_core::remote::{RemoteState, remote_decision};
use tollgate_core::{Apply, Decision, Op, Store, StoreError, Time};

use crate::call::keys::Prefix;
use crate::call::reply::{Decided, Reply};
use crate::call::shape::all_positions;
use crate::call::{Call, Part, When, mistake};
use crate::connect::{ConnectError, RedisStoreBuilder};
use crate::connection::node::Node;
use crate::connection::{Connection, send_one};
use crate::script::Scripts;

/// How often a script may ask for other windows of the calendar: once for each limit is enough, unless
/// the store's clock jumps about.
const MAX_ASKS: usize = 64;

/// Limits over Redis, Valkey or Redis Cluster.
///
/// Cheap to share: put it in an `Arc`. Connections are made when they are needed and made again when
/// they break; all callers share them.
pub struct RedisStore {
    pub(crate) connection: Connection,
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
    pub fn builder(url: &str) -> RedisStoreBuilder {
        RedisStoreBuilder::new(url)
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
            if let Some(answer) = answer_here(op) {
                *out = answer;
                continue;
            }
            let mut places = self.connection.places(op, &self.prefix);
            if places.len() > 1 {
                self.answer_together(std::mem::take(&mut together), at).await;
                *out = self.apply_cross_slot(op, &places, at).await;
            } else {
                together.push((Part::new(op, places.pop().unwrap_or_default()), out));
            }
        }
        self.answer_together(together, at).await;
    }

    /// The common case, with nothing in it that others need: what a future holds is moved about.
    async fn answer_one(
        &self,
        node: &Node,
        op: &Op<'_>,
        at: Option<Time>,
    ) -> Result<Decision, StoreError> {
        if let Some(answer) = answer_here(op) {
            return answer;
        }
        let part = Part::new(op, all_positions(op));
        let mut when = When::new(at);
        for _ in 0..MAX_ASKS {
            let call = Call::new(&part, &when, &self.prefix, &self.scripts);
            let answer = send_one(node, &call).await;
            if let Some(decided) = interpret(answer, &call, &mut when) {
                return decided.map(|decided| decided.decision(op.act.can_be_denied()));
            }
        }
        Err(clock_unstable())
    }

    async fn answer_together(
        &self,
        together: Vec<(Part<'_, '_>, &mut Result<Decision, StoreError>)>,
        at: Option<Time>,
    ) {
        let (parts, out): (Vec<_>, Vec<_>) = together.into_iter().unzip();
        let decided = self.decide(&parts, at).await;
        for ((part, out), decided) in parts.iter().zip(out).zip(decided) {
            *out = decided.map(|decided| decided.decision(part.op.act.can_be_denied()));
        }
    }

    /// Has each part decided where it is counted; those of one place in their order.
    pub(crate) async fn decide(
        &self,
        parts: &[Part<'_, '_>],
        at: Option<Time>,
    ) -> Vec<Result<Decided, StoreError>> {
        let mut whens = vec![When::new(at); parts.len()];
        let mut out: Vec<Option<Result<Decided, StoreError>>> =
            parts.iter().map(|_| None).collect();
        for _ in 0..MAX_ASKS {
            if out.iter().all(Option::is_some) {
                break;
            }
            self.ask(parts, &mut whens, &mut out).await;
        }
        out.into_iter().map(|out| out.unwrap_or_else(|| Err(clock_unstable()))).collect()
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
        let answers = self.connection.send(&calls).await;
        for (((when, out), call), answer) in open.into_iter().zip(&calls).zip(answers) {
            *out = interpret(answer, call, when);
        }
    }
}

/// What an answer means; `None` if it must be asked again, around another time.
fn interpret(
    answer: Result<Vec<u8>, StoreError>,
    call: &Call,
    when: &mut When,
) -> Option<Result<Decided, StoreError>> {
    match answer.and_then(|bytes| Reply::read(bytes, &call.asked)) {
        Ok(Reply::Decided(decided)) => Some(Ok(decided)),
        Ok(Reply::Overdrawn) => Some(Err(StoreError::overdrawn())),
        Ok(Reply::Again(around, position)) => {
            when.look_around(position, around);
            None
        }
        Err(error) => Some(Err(error)),
    }
}

/// The answer, if nobody needs to be asked: it makes no sense, or no limit counts anything and nothing
/// is remembered or forgotten.
fn answer_here(op: &Op<'_>) -> Option<Result<Decision, StoreError>> {
    if let Some(mistake) = mistake(op) {
        return Some(Err(mistake));
    }
    if op.touches_state() {
        return None;
    }
    let limits = op
        .items
        .iter()
        .map(|item| (item.limit.exact_capacity(), RemoteState::Nothing, Time::EPOCH));
    Some(Ok(remote_decision(true, op.cost, limits)))
}

fn clock_unstable() -> StoreError {
    StoreError::unavailable("the store's clock is never where it was")
}

impl Store for RedisStore {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        match (ops, out, &self.connection) {
            ([op], [out], Connection::One(node)) => Apply::Pending(Box::pin(async move {
                *out = self.answer_one(node, op, at).await;
            })),
            (ops, out, _) => Apply::Pending(Box::pin(self.answer_all(ops, at, out))),
        }
    }
}
