//! Layers over a real Redis that fails in every way we know: the configured mode answers, nothing hangs,
//! and afterwards the store decides again.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::runtime::{Handle, Runtime};
use tollgate::layers::{Distribution, Layers, OnFailure, Prefetch, WriteBehind};
use tollgate::{AnyStore, Decision, Error, Limiter, RedisStore, Source};
use tollgate_fixtures::{Fault, FaultProxy, Server};

/// No answer takes longer than this, whatever the store does and however busy the machine is.
const GUARD: Duration = Duration::from_secs(5);
/// How long the layers may take to notice that the store is away, or back.
const NOTICE: Duration = Duration::from_secs(15);
/// Number of checks at once.
const CALLERS: usize = 50;
/// More tasks than this are not needed for anything.
const MAX_TASKS: usize = 50;

/// A Redis behind a proxy, and a limiter for each failure mode.
struct Scene {
    server: Server,
    proxy: FaultProxy,
    store: Arc<AnyStore>,
    allow: Limiter<AnyStore>,
    deny: Limiter<AnyStore>,
    local: Limiter<AnyStore>,
}

impl Scene {
    fn new(distribution: Distribution) -> Option<Scene> {
        let server = Server::redis()?;
        let proxy = FaultProxy::start(server.port());
        let url = format!("redis://127.0.0.1:{}", proxy.port());
        let redis = Arc::new(RedisStore::builder(&url).build().unwrap());
        let layers = Layers::new().timeout(Duration::from_millis(100)).nodes(2);
        let store = AnyStore::layered(layers.around(redis));
        let limiter = |name, on_failure| {
            let limiter = store.limiter(name, ["fixed-window 10/week"]).unwrap();
            limiter.with_on_failure(on_failure).with_distribution(distribution)
        };
        let (allow, deny) = (limiter("allow", OnFailure::Allow), limiter("deny", OnFailure::Deny));
        let local = limiter("local", OnFailure::Local);
        Some(Scene { server, proxy, store, allow, deny, local })
    }

    /// Returns whether the store decides for every policy.
    async fn is_healthy(&self, key: &str) -> bool {
        let mut healthy = true;
        for limiter in [&self.allow, &self.deny, &self.local] {
            let answer = check(limiter, key).await;
            healthy &= answer.is_ok_and(|decision| !decision.degraded);
        }
        healthy && !self.store.layers().unwrap().stats().is_open
    }

    /// Checks many keys at once through every policy, and returns whether each answered as configured.
    async fn answers_by_mode(&self, round: usize) -> bool {
        let keys: Vec<String> = (0..CALLERS).map(|n| format!("{round}-{n}")).collect();
        let allowed = join_all(keys.iter().map(|key| check(&self.allow, key))).await;
        let denied = join_all(keys.iter().map(|key| check(&self.deny, key))).await;
        let local = join_all(keys.iter().map(|key| check(&self.local, key))).await;
        let is = |answer: &Result<Decision, Error>, source| {
            answer.as_ref().is_ok_and(|one| one.allowed && one.degraded && one.source == source)
        };
        allowed.iter().all(|answer| is(answer, Source::FailureMode))
            && denied.iter().all(|answer| answer.as_ref().is_err_and(Error::is_unavailable))
            && local.iter().all(|answer| is(answer, Source::Local))
    }
}

async fn check(limiter: &Limiter<AnyStore>, key: &str) -> Result<Decision, Error> {
    let answer = tokio::time::timeout(GUARD, limiter.check(key)).await;
    answer.expect("no answer hangs")
}

/// Repeats until it holds.
async fn within(time: Duration, what: &str, mut holds: impl AsyncFnMut(usize) -> bool) {
    let start = Instant::now();
    let mut round = 0;
    while !holds(round).await {
        assert!(start.elapsed() < time, "{what}");
        round += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Breaks the store, sees the failure modes answer, mends it, and sees the store answer, with every distribution.
fn survives(what: &str, fail: impl Fn(&Scene), mend: impl Fn(&Scene)) {
    let local = [WriteBehind::default().into(), Prefetch::default().into()];
    for distribution in local.into_iter().chain([Distribution::Strict]) {
        survives_as(distribution, &format!("{what}, {distribution}"), &fail, &mend);
    }
}

fn survives_as(
    distribution: Distribution,
    what: &str,
    fail: impl Fn(&Scene),
    mend: impl Fn(&Scene),
) {
    let Some(scene) = Scene::new(distribution) else { return };
    Runtime::new().unwrap().block_on(async {
        let healthy = async |round: usize| scene.is_healthy(&format!("before-{round}")).await;
        within(NOTICE, &format!("{what}: it works at first"), healthy).await;
        fail(&scene);
        let by_mode = async |round: usize| scene.answers_by_mode(round).await;
        within(NOTICE, &format!("{what}: every policy answers by its mode"), by_mode).await;
        let stats = scene.store.layers().unwrap().stats();
        assert!(stats.memory <= stats.max_memory, "{what}: {stats:?}");
        assert!(Handle::current().metrics().num_alive_tasks() < MAX_TASKS, "{what}");
        // Only checks and peeks can be answered without the store.
        assert!(scene.allow.key("a").charge().await.is_err(), "{what}");
        mend(&scene);
        let healthy = async |round: usize| scene.is_healthy(&format!("after-{round}")).await;
        within(NOTICE, &format!("{what}: the store decides again"), healthy).await;
        within(NOTICE, &format!("{what}: no task is left"), async |_| {
            Handle::current().metrics().num_alive_tasks() < MAX_TASKS
        })
        .await;
    });
}

/// Sets a fault of the proxy, and mends it.
fn survives_fault(fault: Fault) {
    let what = format!("{fault:?}");
    survives(&what, |scene| scene.proxy.set(fault), |scene| scene.proxy.set(Fault::None));
}

#[test]
fn a_slow_store() {
    survives_fault(Fault::Latency(Duration::from_millis(500)));
}

#[test]
fn closed_connections() {
    survives_fault(Fault::Close);
}

#[test]
fn reset_connections() {
    survives_fault(Fault::Reset);
}

#[test]
fn a_black_hole() {
    survives_fault(Fault::BlackHole);
}

#[test]
fn one_byte_a_second() {
    survives_fault(Fault::Trickle);
}

#[test]
fn half_closed_connections() {
    survives_fault(Fault::HalfClosed);
}

#[test]
fn a_paused_store() {
    survives("paused", |scene| scene.server.pause(), |scene| scene.server.resume());
}

#[test]
fn a_killed_store() {
    survives("killed", |scene| scene.server.kill(), |scene| scene.server.restart());
}

#[test]
fn a_store_without_memory() {
    let set = |scene: &Scene, bytes| scene.server.order(&["config", "set", "maxmemory", bytes]);
    survives("out of memory", |scene| set(scene, "1"), |scene| set(scene, "0"));
}

#[test]
fn a_read_only_store() {
    let replica_of = |scene: &Scene, args: [&str; 2]| {
        scene.server.order(&["replicaof", args[0], args[1]]);
    };
    survives(
        "read only",
        |scene| replica_of(scene, ["127.0.0.1", "1"]),
        |scene| replica_of(scene, ["no", "one"]),
    );
}

/// What was allowed without the store is charged to it afterwards, as far as it still counts.
#[test]
fn what_was_allowed_is_charged_afterwards() {
    let Some(scene) = Scene::new(Distribution::Strict) else { return };
    Runtime::new().unwrap().block_on(async {
        assert_eq!(check(&scene.allow, "a").await.unwrap().remaining, Some(9));
        // A paused server would do what it was sent when it resumes.
        scene.proxy.set(Fault::BlackHole);
        within(NOTICE, "degraded", async |_| check(&scene.allow, "b").await.unwrap().degraded)
            .await;
        // Far more than the limit.
        for _ in 0..30 {
            assert!(check(&scene.allow, "a").await.unwrap().allowed);
        }
        scene.proxy.set(Fault::None);
        within(NOTICE, "charged", async |round| {
            let probe = check(&scene.allow, &format!("c{round}")).await.unwrap();
            !probe.degraded && !scene.allow.key("a").peek().await.unwrap().allowed
        })
        .await;
        // Not the sum of the outage: at most one limit more than was used before.
        let used = scene.allow.key("a").peek().await.unwrap();
        assert_eq!(used.remaining, Some(0));
        let refunded = scene.allow.key("a").cost(11).refund().await.unwrap();
        assert_eq!(refunded.remaining, Some(10), "1 before, and at most 10 of the 30");
    });
}

/// A paused server does what it was sent when it resumes, and what it was not sent is charged: nothing is lost, also
/// where one operation of a call waits for another (a calendar window may have to be asked for).
#[test]
fn what_was_not_sent_is_charged_afterwards() {
    for distribution in [WriteBehind::default().into(), Distribution::Strict] {
        let Some(scene) = Scene::new(distribution) else { return };
        let paced = scene.store.limiter("paced", ["fixed-window 100000/year"]).unwrap();
        let paced = paced.with_distribution(distribution);
        Runtime::new().unwrap().block_on(async {
            let mut admitted = 0;
            for pause in [false, true, false] {
                if pause {
                    scene.server.pause();
                }
                for _ in 0..20 {
                    admitted += u64::from(check(&paced, "a").await.unwrap().allowed);
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                if pause {
                    scene.server.resume();
                }
                within(NOTICE, "the store decides", async |round| {
                    scene.is_healthy(&format!("{pause} {round}")).await
                })
                .await;
            }
            let used = async || {
                // An operation with an id goes to the store.
                let peek = paced.key("a").id("peek").peek().await.unwrap();
                100_000 - peek.remaining.unwrap()
            };
            let what = format!("{distribution}: all that was admitted is counted");
            within(NOTICE, &what, async |_| used().await == admitted).await;
        });
    }
}
