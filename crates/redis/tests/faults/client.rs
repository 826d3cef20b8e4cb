//! A store with the runtime it lives in. No call may hang.

use std::error::Error;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tollgate_core::{Apply, Decision, PlainStore, Store, StoreError, Time};
use tollgate_redis::{RedisStore, RedisStoreBuilder};

use crate::plan::Ask;

/// Whatever takes longer hangs: far more than any deadline of these tests.
pub(crate) const HANGS: Duration = Duration::from_secs(10);
/// How long a store may take to heal, once what was wrong is right again.
pub(crate) const HEALS: Duration = Duration::from_secs(20);

pub(crate) type Answer = Result<Decision, StoreError>;

pub(crate) struct Client {
    pub(crate) runtime: Runtime,
    pub(crate) store: RedisStore,
}

impl Client {
    /// A store that has found its server.
    pub(crate) fn connect(url: &str) -> Client {
        Client::try_connect(RedisStore::builder(url)).unwrap()
    }

    /// The same, or why it is none.
    pub(crate) fn try_connect(builder: RedisStoreBuilder) -> Result<Client, String> {
        let runtime = Runtime::new().unwrap();
        let connecting = async { tokio::time::timeout(HANGS, builder.connect()).await };
        let connected = runtime.block_on(connecting).expect("connecting hangs");
        connected.map(|store| Client { runtime, store }).map_err(|error| error.to_string())
    }

    /// A store that has not looked for its server yet.
    pub(crate) fn make(builder: RedisStoreBuilder) -> Client {
        Client { runtime: Runtime::new().unwrap(), store: builder.build().unwrap() }
    }

    /// By the store's own clock.
    pub(crate) fn ask(&self, ask: Ask<'_>) -> Answer {
        self.ask_at(ask, None)
    }

    pub(crate) fn ask_at(&self, ask: Ask<'_>, at: Option<Time>) -> Answer {
        self.ask_all(&[ask], at).remove(0)
    }

    /// All in one call.
    pub(crate) fn ask_all(&self, asks: &[Ask<'_>], at: Option<Time>) -> Vec<Answer> {
        self.runtime.block_on(answers(&self.store, asks, at))
    }

    /// What is left.
    pub(crate) fn left(&self, ask: Ask<'_>) -> u64 {
        self.ask(ask).expect("an answer").remaining.expect("a limit")
    }

    /// Asks until there is an answer. Every error on the way must say that the store is unavailable,
    /// and why; they are returned.
    pub(crate) fn ask_until_healed(&self, ask: Ask<'_>) -> (Decision, Vec<String>) {
        let (start, mut errors) = (Instant::now(), Vec::new());
        loop {
            match self.ask(ask) {
                Ok(decision) => return (decision, errors),
                Err(error) => errors.push(unavailable(&error)),
            }
            assert!(start.elapsed() < HEALS, "does not heal: {errors:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Has a store answer; panics if it does not.
pub(crate) async fn answers(store: &dyn Store, asks: &[Ask<'_>], at: Option<Time>) -> Vec<Answer> {
    let answering = answers_if_any(store, asks, at);
    tokio::time::timeout(HANGS, answering).await.expect("the call hangs")
}

/// The same, for those that give up by themselves.
pub(crate) async fn answers_if_any(
    store: &dyn Store,
    asks: &[Ask<'_>],
    at: Option<Time>,
) -> Vec<Answer> {
    let items: Vec<_> = asks.iter().map(Ask::items).collect();
    let ops: Vec<_> = asks.iter().zip(&items).map(|(ask, items)| ask.op(items)).collect();
    let mut out = vec![Err(StoreError::unanswered()); ops.len()];
    if let Apply::Pending(later) = store.apply(&ops, at, &mut out) {
        later.await;
    }
    out
}

/// What the plain store in memory answers.
pub(crate) fn plainly(store: &PlainStore, asks: &[Ask<'_>], at: Time) -> Vec<Answer> {
    let answer = |ask: &Ask<'_>| store.apply_one(&ask.op(&ask.items()), at);
    asks.iter().map(answer).collect()
}

/// Answers in words, so that they can be compared.
pub(crate) fn said(answers: &[Answer]) -> Vec<String> {
    let one = |answer: &Answer| match answer {
        Ok(decision) => format!("{decision:?}"),
        Err(error) => told(error),
    };
    answers.iter().map(one).collect()
}

/// The error with all its sources.
pub(crate) fn told(error: &StoreError) -> String {
    let (mut text, mut source) = (error.to_string(), error.source());
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// What an error says, which must be that the store is unavailable and why.
pub(crate) fn unavailable(error: &StoreError) -> String {
    let text = told(error);
    assert!(error.is_unavailable() && error.source().is_some(), "{text}");
    text
}

/// Holds an answer to be the error that the store is unavailable, and to say this about it.
pub(crate) fn assert_unavailable(answer: Answer, why: &str) {
    let text = unavailable(&answer.expect_err("an error"));
    assert!(text.contains(why), "{text}");
}

/// An instant on which nothing special happens.
pub(crate) fn noon() -> Time {
    Time::from_micros(1_700_000_000_000_000).unwrap()
}

/// The instant so many seconds from noon.
pub(crate) fn after_noon(seconds: i64) -> Time {
    let micros = noon().as_micros().checked_add_signed(seconds * 1_000_000);
    Time::from_micros(micros.unwrap()).unwrap()
}
