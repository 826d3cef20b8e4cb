//! Connections without sockets, for the fuzz targets and for the tests that run their corpora.

use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;

use tollgate_core::{Apply, Decision, Op, PlainStore, Store, StoreError, Time};

use crate::config::Config;
use crate::engine::{Engine, StoreHandle};
use crate::limits::{ConnectionLimits, HttpLimits, RespLimits};
use crate::metrics::OpenConnections;
use crate::net::connection_limit::{ConnectionLimit, MaxConnections};
use crate::net::worker::Worker;
use crate::{http, resp};

/// Policies with every kind of limit and option.
const CONFIG: &str = r#"
[policy.default]
limits = ["gcra 1/s burst 5"]
[policy.api]
limits = ["token-bucket 1/s burst 5 whole", "fixed-window 100/h count-denied"]
candidate = ["sliding-window 10/min"]
overrides = [{ key = "vip", factor = 0.1 }]
headers = "draft-7"
[policy.login]
limits = ["sliding-counters 3/h per ip", "sliding-log 20/min per user", "ar1 max 9 decay 2 resolution 1s"]
overrides = [{ key = "user=42", factor = 3 }]
enforce = "50%"
headers = "x-delta"
[policy.db]
limits = ["concurrency 5 ttl 1min", "leaky-bucket size 9 per all"]
headers = "leaky"
[policy.model]
limits = ["gcra 60/min", "gcra 90000/min of tokens", "fixed-window 9/h of bytes per all"]
candidate = ["gcra 9/s of tokens"]
overrides = [{ key = "vip", limits = ["unlimited", "gcra 1/s burst 9"] }]
[policy.all]
limits = ["request-window 5/s per all"]
enforce = "silent"
[policy.none]
limits = ["unlimited"]
enforce = "off"
"#;

thread_local! {
    /// The services of a worker, with ordinary limits and with tight ones.
    static SERVICES: [Services; 2] = [ConnectionLimits::default(), tight()].map(Services::new);
}

struct Services {
    resp: Rc<resp::Service>,
    http: Rc<http::Service>,
}

/// Feeds bytes to the Redis protocol.
pub fn resp(bytes: &[u8]) {
    whole_and_in_pieces(bytes, |services, pieces| resp::fuzzing::answers(&services.resp, pieces));
}

/// Feeds bytes to HTTP/1.
pub fn http(bytes: &[u8]) {
    whole_and_in_pieces(bytes, |services, pieces| http::fuzzing::answers(&services.http, pieces));
}

/// Asserts that bytes are answered the same, however they arrive. The first byte says where the rest is
/// split in two, and whether the limits are tight, so that little input is needed to reach them.
fn whole_and_in_pieces<T: Debug + PartialEq>(
    bytes: &[u8],
    answers: impl Fn(&Services, [&[u8]; 2]) -> T,
) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let (start, end) = bytes.split_at(bytes.len() * usize::from(*first) / 256);
    SERVICES.with(|[ordinary, tight]| {
        let services = if first.is_multiple_of(2) { ordinary } else { tight };
        let (whole, pieces) = (answers(services, [bytes, b""]), answers(services, [start, end]));
        assert_eq!(whole, pieces, "in one piece and in two");
    });
}

fn tight() -> ConnectionLimits {
    let resp = RespLimits {
        args: 8,
        arg_bytes: 48,
        command_bytes: 128,
        transaction_bytes: 256,
        pipeline: 3,
        ..RespLimits::default()
    };
    let http = HttpLimits {
        headers: 4,
        head_bytes: 128,
        body_bytes: 64,
        batch: 2,
        ..HttpLimits::default()
    };
    ConnectionLimits { resp, http }
}

impl Services {
    fn new(limits: ConnectionLimits) -> Services {
        let policies = Config::parse(CONFIG).unwrap_or_default().policies;
        let engine = Engine::new(StoreHandle::remote(Arc::new(Stateless)), policies, 1);
        let (worker, engine) = (Worker::new(0), Arc::new(engine));
        let limit = || {
            Arc::new(ConnectionLimit::new(MaxConnections {
                total: usize::MAX,
                per_peer: usize::MAX,
            }))
        };
        let connections = OpenConnections { resp: limit(), http: limit() };
        Services {
            resp: resp::Service::new(Rc::clone(&worker), Arc::clone(&engine), limits.resp),
            http: http::Service::new(worker, engine, connections, limits.http, [].into()),
        }
    }
}

/// A store that keeps no state, so that the same operation always gets the same decision.
struct Stateless;

impl Store for Stateless {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        _at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        for (op, result) in ops.iter().zip(out) {
            *result = PlainStore::default().apply_one(op, Time::EPOCH);
        }
        Apply::Ready
    }
}

#[cfg(test)]
#[path = "../../../fuzz/corpus.rs"]
mod corpus;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_config_is_valid() {
        assert_eq!(Config::parse(CONFIG).map(|config| config.policies.len()), Ok(7));
    }

    #[test]
    fn the_resp_corpus_passes() {
        corpus::each("resp", resp);
    }

    #[test]
    fn the_http_corpus_passes() {
        corpus::each("http", http);
    }
}
