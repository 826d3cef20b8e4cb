//! Connections without sockets, for the fuzz targets and for the tests that run their corpora.

use std::fmt::Debug;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tollgate_core::{Apply, Decision, Op, PlainStore, Store, StoreError, Time};

use crate::config::Config;
use crate::engine::{Engine, StoreHandle};
use crate::host::worker::Worker;
use crate::limits::{ConnectionLimits, HttpLimits, RespLimits};

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
[policy.all]
limits = ["request-window 5/s per all"]
enforce = "silent"
[policy.none]
limits = ["unlimited"]
enforce = "off"
"#;

thread_local! {
    /// A worker with the default limits and one with tight limits.
    static WORKERS: [Rc<Worker>; 2] = [ConnectionLimits::default(), tight()].map(worker);
}

/// Runs bytes of the Redis protocol.
pub fn resp(bytes: &[u8]) {
    whole_and_in_pieces(bytes, crate::resp::fuzzing::answers);
}

/// Runs bytes of HTTP/1.
pub fn http(bytes: &[u8]) {
    whole_and_in_pieces(bytes, crate::http::fuzzing::answers);
}

/// Checks that the responses do not depend on how the bytes are split. The first byte chooses where the rest
/// is split in two, and whether the limits are so tight that few bytes reach them.
fn whole_and_in_pieces<T: Debug + PartialEq>(
    bytes: &[u8],
    answers: impl Fn(&Worker, [&[u8]; 2]) -> T,
) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let (start, end) = bytes.split_at(bytes.len() * usize::from(*first) / 256);
    WORKERS.with(|[default, tight]| {
        let worker = if first.is_multiple_of(2) { default } else { tight };
        let (whole, pieces) = (answers(worker, [bytes, b""]), answers(worker, [start, end]));
        assert_eq!(whole, pieces, "responses to one piece and to two pieces differ");
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

fn worker(limits: ConnectionLimits) -> Rc<Worker> {
    let policies = Config::parse(CONFIG).unwrap_or_default().policies;
    let engine = Engine::new(StoreHandle::far(Arc::new(Stateless)), policies, 1);
    Worker::new(0, Arc::new(engine), limits)
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

/// Passes bytes to `process` as a transport does whose buffer has `capacity` bytes. `process` returns the
/// number of bytes it consumed, or `None` if the connection ends.
pub(crate) fn feed(
    pieces: [&[u8]; 2],
    capacity: usize,
    mut process: impl FnMut(&mut [u8]) -> Option<usize>,
) {
    let mut buffer: Vec<u8> = Vec::new();
    for mut left in pieces {
        while !left.is_empty() {
            let (next, rest) = left.split_at(left.len().min(capacity - buffer.len()));
            assert!(!next.is_empty(), "the buffer is full and nothing was consumed");
            buffer.extend_from_slice(next);
            let Some(consumed) = process(&mut buffer) else { return };
            assert!(consumed <= buffer.len(), "{consumed} of {} bytes consumed", buffer.len());
            buffer.drain(..consumed);
            left = rest;
        }
    }
}

/// Returns the output of a future that is ready at once.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("the future is pending"),
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
        assert_eq!(Config::parse(CONFIG).map(|config| config.policies.len()), Ok(6));
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
