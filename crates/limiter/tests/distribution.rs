//! Write-behind and prefetch over real stores.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use futures_util::future::join_all;
use tokio::runtime::Runtime;
use tollgate::layers::{Distribution, Layers, OnFailure, Prefetch, WriteBehind};
use tollgate::{AnyStore, Limiter};
use tollgate_fixtures::{Cluster, Server};

const NODES: u32 = 4;
/// Number of callers of each node.
const CALLERS: usize = 16;
/// Number of checks of each caller.
const CHECKS: usize = 1_000;

/// Runs a test on a Redis, a Valkey and a cluster.
fn on_every_store<T: AsyncFn(&str)>(test: &T) {
    let runtime = Runtime::new().unwrap();
    let (servers, cluster) = ([Server::redis(), Server::valkey()], Cluster::start());
    let urls = servers.iter().flatten().map(Server::url).chain(cluster.as_ref().map(Cluster::url));
    for url in urls {
        runtime.block_on(test(&url));
    }
}

/// Opens a limiter for each node, with a store of its own.
async fn nodes(url: &str, line: &str, distribution: Distribution) -> Vec<Limiter<AnyStore>> {
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        let layers = Layers::new().timeout(Duration::from_secs(60)).nodes(NODES);
        let store = tollgate::open_with(url, layers).await.unwrap();
        let limiter = store.limiter(distribution.name(), [line]).unwrap();
        nodes.push(limiter.with_on_failure(OnFailure::Deny).with_distribution(distribution));
    }
    nodes
}

/// Checks a key from all nodes until each caller was denied some times. Returns the number of admissions.
async fn exhaust(nodes: &[Limiter<AnyStore>], key: &str) -> u64 {
    let callers = nodes.iter().flat_map(|node| std::iter::repeat_n(node, CALLERS)).map(|node| {
        let (node, key) = (node.clone(), key.to_owned());
        tokio::spawn(async move {
            let (mut admitted, mut denied) = (0, 0);
            while denied < 20 {
                let allowed = node.check(&key).await.unwrap().allowed;
                admitted += u64::from(allowed);
                denied += u32::from(!allowed);
                tokio::task::yield_now().await;
            }
            admitted
        })
    });
    join_all(callers).await.into_iter().map(Result::unwrap).sum()
}

#[test]
fn admissions_stay_within_their_bound() {
    on_every_store(&async |url| {
        for distribution in [WriteBehind::default().into(), Prefetch::default().into()] {
            for line in ["sliding-log 1000/day", "gcra 1/day burst 1000", "fixed-window 1000/week"]
            {
                let nodes = nodes(url, line, distribution).await;
                let admitted = exhaust(&nodes, line).await;
                let limit = line.parse().unwrap();
                // Quota that is taken ahead is charged first: only in a later window can it be too much.
                let over = match distribution {
                    Distribution::Prefetch(_) => 0,
                    _ => distribution.max_over_admission(&limit, NODES),
                };
                let bounds = 1_000..=1_000 + over;
                assert!(bounds.contains(&admitted), "{url} {distribution} {line}: {admitted}");
            }
        }
    });
}

#[test]
fn a_hot_key_is_answered_without_the_store() {
    on_every_store(&async |url| {
        for distribution in [WriteBehind::default().into(), Prefetch::default().into()] {
            let nodes = nodes(url, "gcra 1000000000/s", distribution).await;
            let callers = nodes.iter().flat_map(|node| std::iter::repeat_n(node, CALLERS));
            let checks = callers.map(async |node| {
                for _ in 0..CHECKS {
                    node.check("hot").await.unwrap().into_result().unwrap();
                    tokio::task::yield_now().await;
                }
            });
            let total = join_all(checks).await.len() * CHECKS;
            let stats = nodes.iter().map(|node| node.store().layers().unwrap().stats());
            let local: u64 = stats.map(|s| s.decided_locally + s.decided_by_prefetch).sum();
            let least = u64::try_from(total * 9 / 10).unwrap();
            assert!(local > least, "{url} {distribution}: {local} of {total}");
        }
    });
}
