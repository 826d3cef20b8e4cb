//! The same limiter on every store: memory, Redis, Valkey and Redis Cluster, chosen by a URL.

#![allow(clippy::unwrap_used, reason = "a test")]

mod support;
mod through_limiter;

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::runtime::Runtime;
use tollgate::layers::Layers;
use tollgate::{AnyStore, Limit, LimitStatuses, Limiter, OpenError, Rate};
use tollgate_core::contract::Suite;
use tollgate_fixtures::{Cluster, Server};

use support::lasting_store;
use through_limiter::ThroughLimiter;

const LONG: Duration = Duration::from_secs(60);

/// Opens a store that is waited for, however busy the machine is.
async fn open(url: &str) -> Result<Arc<AnyStore>, OpenError> {
    tollgate::open_with(url, Layers::new().timeout(LONG)).await
}

/// Runs a test on every store.
fn on_every_store<T: AsyncFn(&str)>(test: &T) {
    let runtime = Runtime::new().unwrap();
    let redis = Server::redis();
    let valkey = Server::valkey();
    let cluster = Cluster::start();
    let servers = [redis, valkey];
    let urls = servers.iter().flatten().map(Server::url).chain(cluster.as_ref().map(Cluster::url));
    for url in ["memory:".to_owned()].into_iter().chain(urls) {
        runtime.block_on(test(&url));
    }
}

/// The limiter of DESIGN: the words are the same, whatever the URL.
async fn design(url: &str) -> Result<(), Box<dyn Error>> {
    let (ip, user) = (IpAddr::from(Ipv4Addr::new(203, 0, 113, 9)), "alice");

    let store = open(url).await?;
    let login =
        store.limiter("login", ["gcra 1/h burst 5 per ip", "fixed-window 100/week per user"])?;
    let request = login.subject("ip", ip).subject("user", user).cost(2);
    assert_eq!(request.check().await?.into_result()?.remaining, Some(3), "{url}");
    assert_eq!(request.check().await?.into_result()?.remaining, Some(1), "{url}");
    let denied = request.check().await?.into_result().unwrap_err();
    assert!(denied.retry_after() > Some(tollgate::Span::ZERO), "{url}");
    // An address is the same key as its text.
    let text = login.keys(&[("ip", "203.0.113.9"), ("user", user)]);
    assert_eq!(text.peek().await?.remaining, Some(1), "{url}");

    let db = store.limiter("db", ["concurrency 20 ttl 1h"])?;
    let lease = db.key("reports").lease_within(Duration::from_secs(2)).await?;
    assert_eq!(lease.decision().remaining, Some(19), "{url}");
    assert_eq!(lease.release().await?.remaining, Some(20), "{url}");
    Ok(())
}

#[test]
fn the_store_is_a_url() {
    on_every_store(&async |url| design(url).await.unwrap());
}

#[test]
fn a_url_that_names_no_store_is_an_error() {
    let runtime = Runtime::new().unwrap();
    for url in ["", "memory", "http://localhost", "redis://"] {
        assert!(runtime.block_on(tollgate::open(url)).is_err(), "{url}");
    }
    let refused = runtime.block_on(tollgate::open("redis://127.0.0.1:1")).unwrap_err();
    assert!(refused.source().is_some(), "{refused}");
}

#[test]
fn the_contract_holds_through_the_limiter() {
    let runtime = Runtime::new().unwrap();
    let suite = |store: Arc<AnyStore>, cases| {
        let limiter = ThroughLimiter::new(&store);
        Suite::new(&limiter).block_on(|pending| runtime.block_on(pending)).cases(cases).run_all();
    };
    let opened = |url: String| runtime.block_on(open(&url)).unwrap();
    suite(AnyStore::memory(lasting_store()), 16);
    if let Some(server) = Server::redis() {
        suite(opened(server.url()), 4);
    }
    if let Some(cluster) = Cluster::start() {
        suite(opened(cluster.url()), 2);
    }
}

const TASKS: usize = 16;
const CHECKS: usize = 50;
const CAPACITY: usize = 333;

/// Several stores on one URL stand for several processes.
async fn processes(url: &str, line: &str) -> Vec<Limiter<AnyStore>> {
    let mut limiters: Vec<Limiter<AnyStore>> = Vec::new();
    for _ in 0..3 {
        // Memory is not shared by opening it again.
        if let (Some(first), "memory:") = (limiters.first(), url) {
            limiters.push(first.clone());
            continue;
        }
        let store = open(url).await.unwrap();
        limiters.push(store.limiter("totals", [line]).unwrap());
    }
    limiters
}

#[test]
fn callers_are_admitted_exactly_as_often_as_one_caller() {
    on_every_store(&async |url| {
        for line in ["gcra 1/week burst 333", "sliding-log 333/week", "concurrency 333 ttl 1h"] {
            let limiters = processes(url, line).await;
            let task = async |limiter: &Limiter<AnyStore>| {
                let mut allowed = 0;
                for _ in 0..CHECKS {
                    allowed += usize::from(limiter.check(line).await.unwrap().allowed);
                }
                allowed
            };
            let tasks = (0..TASKS).map(|task| &limiters[task % limiters.len()]).map(task);
            let allowed: usize = join_all(tasks).await.into_iter().sum();
            assert_eq!(allowed, CAPACITY, "{url} {line}");
        }
    });
}

#[test]
fn many_keys_are_checked_in_one_call() {
    on_every_store(&async |url| {
        let store = open(url).await.unwrap();
        let limiter = store.limiter("many", ["gcra 1/h burst 1", "fixed-window 9/week"]).unwrap();
        let mut decisions = Vec::new();
        limiter.check_many(["a", "b", "", "a"], &mut decisions).await;
        let allowed = decisions.iter().map(|d| d.as_ref().ok().map(|d| d.allowed));
        let allowed: Vec<_> = allowed.collect();
        assert_eq!(allowed, [Some(true), Some(true), None, Some(false)], "{url}");
        limiter.check_many([1_u64, 2, 1], &mut decisions).await;
        assert!(!decisions[2].as_ref().unwrap().allowed, "{url}");
    });
}

#[test]
fn a_lease_that_another_process_releases_is_noticed() {
    on_every_store(&async |url| {
        let [first, second, _] = processes(url, "concurrency 1 ttl 1h").await.try_into().unwrap();
        let held = first.key("noticed").lease().await.unwrap();
        assert!(second.key("noticed").lease().await.unwrap_err().denied().is_some(), "{url}");
        let request = second.key("noticed");
        let waiting = tokio::spawn(request.lease_within(LONG));
        tokio::task::yield_now().await;
        drop(held);
        // Its `ttl` is an hour.
        let lease = waiting.await.unwrap().unwrap();
        assert_eq!(lease.decision().remaining, Some(0), "{url}");
    });
}

#[test]
fn a_holder_learns_that_its_lease_is_gone() {
    on_every_store(&async |url| {
        let [first, second, _] = processes(url, "concurrency 1 ttl 1h").await.try_into().unwrap();
        let held = first.key("gone").lease().await.unwrap();
        assert!(held.renew().await.unwrap().allowed, "{url}");
        // An operator ends it.
        second.key("gone").reset().await.unwrap();
        let other = second.key("gone").lease().await.unwrap();
        assert!(held.renew().await.unwrap_err().is_lease_lost(), "{url}");
        let work = held.renew_while(std::future::pending::<()>());
        assert!(work.await.unwrap_err().is_lease_lost(), "{url}");
        let released = held.release().await.unwrap();
        assert!(!released.allowed && released.not_found, "{url}: {released:?}");
        assert!(other.renew().await.unwrap().allowed, "{url}");
    });
}

#[test]
fn what_cannot_be_there_is_an_error() {
    on_every_store(&async |url| {
        let store = open(url).await.unwrap();
        let api = store.limiter("no-leases", ["gcra 1/h burst 5", "unlimited"]).unwrap();
        let request = api.key("a").id("x");
        for result in [request.renew().await, request.release().await] {
            let error = result.unwrap_err().to_string();
            assert!(error.ends_with("the policy has no concurrency limit, which gives leases"));
        }
        assert!(!request.settle().await.unwrap().allowed, "{url}");
        let open = store.limiter("unlimited", ["unlimited"]).unwrap();
        let error = open.key("a").id("x").settle().await.unwrap_err().to_string();
        assert_eq!(error, "settle: the policy counts nothing that can be reserved", "{url}");
        // Switched off for this request: there is nothing to be found, and nothing is missed.
        let db = store.limiter("switched-off", ["concurrency 1 ttl 1h"]).unwrap();
        let off = db.key("a").id("x").factor("0".parse().unwrap());
        assert!(off.renew().await.unwrap().allowed, "{url}");
        assert!(off.release().await.unwrap().allowed, "{url}");
    });
}

#[test]
fn limits_of_several_units_are_charged_together() {
    on_every_store(&async |url| {
        let store = open(url).await.unwrap();
        let requests = Limit::gcra(Rate::per_day(1), 60).unwrap();
        let tokens: Limit = "gcra 1/h burst 90000 of tokens".parse().unwrap();
        let gateway = store.limiter("gateway", [requests, tokens]).unwrap();
        let each = LimitStatuses::default();
        let left = || [0, 1].map(|position| each.get(position).unwrap().remaining.unwrap());
        let request = || gateway.key("alice").statuses(&each);

        assert!(request().cost_of("tokens", 850).check().await.unwrap().allowed);
        assert_eq!(left(), [59, 89_150], "{url}: check");
        assert!(request().cost(0).cost_of("tokens", 150).charge().await.unwrap().allowed);
        assert_eq!(left(), [59, 89_000], "{url}: charge");
        let reserve = request().id("answer-7").cost_of("tokens", 9_000);
        assert!(reserve.reserve().await.unwrap().allowed);
        assert_eq!(left(), [58, 80_000], "{url}: reserve");
        let settle = request().id("answer-7").cost_of("tokens", 1_000);
        assert!(settle.settle().await.unwrap().allowed);
        assert_eq!(left(), [58, 88_000], "{url}: settle");

        // All or nothing: too many tokens take no request.
        let denied = request().cost_of("tokens", 88_001).check().await.unwrap();
        assert!(!denied.allowed && denied.bound_by == 1, "{url}");
        assert_eq!(left(), [58, 88_000], "{url}: denied");
        assert!(each.get(0).unwrap().allows() && !each.get(1).unwrap().allows(), "{url}");
        let unknown = gateway.key("alice").cost_of("bytes", 1).check().await.unwrap_err();
        assert!(unknown.is_bad_cost(), "{url}: {unknown}");
    });
}

#[test]
fn a_name_is_taken_once() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(tollgate::open("memory:")).unwrap();
    let login = store.limiter("login", ["gcra 1/s"]).unwrap();
    let taken = store.limiter("login", ["gcra 2/s"]).unwrap_err();
    assert!(taken.is_name_taken());
    assert_eq!(
        taken.to_string(),
        "another limiter on this store is named \"login\": clone it, or choose another name"
    );
    let clone = login.clone();
    drop(login);
    assert!(store.limiter("login", ["gcra 2/s"]).is_err());
    drop(clone);
    assert!(store.limiter("login", ["gcra 2/s"]).is_ok());
    // Memory behind both kinds of limiter has one set of names.
    let memory = Arc::<tollgate::MemoryStore>::default();
    let _now = memory.limiter("api", ["gcra 1/s"]).unwrap();
    assert!(AnyStore::memory(memory).limiter("api", ["gcra 1/s"]).unwrap_err().is_name_taken());
}
