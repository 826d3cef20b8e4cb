//! The bound on the memory of all layers.

use tollgate::Source;
use tollgate::layers::{Distribution, Layers, OnFailure, Prefetch, WriteBehind};

use crate::remote::{Mode, Setup, pass, settle};

const MAX_MEMORY: usize = 50_000;

#[tokio::test(start_paused = true)]
async fn without_room_for_a_key_the_store_decides() {
    for distribution in [WriteBehind::default().into(), Prefetch::default().into()] {
        let first = Setup::new(&["gcra 1000/day"], OnFailure::Deny);
        let node = first.another(Layers::new().max_memory(MAX_MEMORY), distribution);
        // What is open of a key at the end of its checks.
        let check = async |key: u32| {
            let mut source = Source::Store;
            for _ in 0..4 {
                source = node.limiter.key(key).check().await.unwrap().source;
                settle().await;
            }
            source
        };
        let sources: Vec<Source> = futures_util::future::join_all((0..1_000).map(check)).await;
        let local = sources.iter().filter(|source| **source != Source::Store).count();
        assert!((10..500).contains(&local), "{distribution}: {local}");
        assert!(node.stats().memory <= MAX_MEMORY);
        // Nothing was forgotten: all is written, or given back.
        pass(500).await;
        let stats = node.stats();
        assert_eq!((stats.unwritten, stats.prefetched), (0, 0), "{distribution}");
        for key in 0..1_000_u32 {
            let peek = first.limiter.key(key).peek().await.unwrap();
            assert_eq!(peek.remaining, Some(996), "{distribution} {key}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_room_for_a_key_an_outage_is_not_charged_and_that_is_counted() {
    const KEYS: u64 = 1_000;
    for on_failure in [OnFailure::Allow, OnFailure::Local] {
        let first = Setup::new(&["gcra 1/h burst 10"], OnFailure::Deny);
        let node = first.another(Layers::new().max_memory(MAX_MEMORY), Distribution::Strict);
        let limiter = node.limiter.clone().with_on_failure(on_failure);
        node.remote.set(Mode::Fails);
        let mut allowed = 0;
        for key in 0..KEYS {
            allowed += u64::from(limiter.key(key).check().await.unwrap().allowed);
        }
        let stats = node.stats();
        assert!(stats.memory <= MAX_MEMORY, "{}", stats.memory);
        assert!(stats.uncharged_keys > 10 && allowed >= stats.uncharged_keys as u64);
        assert_eq!(stats.uncharged_keys as u64 + stats.lost, allowed, "{on_failure}");
        node.remote.set(Mode::Answers);
        node.layers().flush().await;
        assert_eq!((node.stats().uncharged_keys, node.stats().lost), (0, stats.lost));
        let mut charged = 0;
        for key in 0..KEYS {
            let remaining = first.limiter.key(key).peek().await.unwrap().remaining.unwrap();
            charged += 10 - remaining;
        }
        assert_eq!(charged + stats.lost, allowed, "{on_failure}");
    }
}
