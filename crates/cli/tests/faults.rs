//! `tollgate serve` behind a network that fails in every way we know: each policy answers by its failure mode, no
//! answer hangs, memory stays bounded, and afterwards Redis decides again.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::fs;
use std::time::{Duration, Instant};

use support::Serving;
use tempfile::TempDir;
use tollgate_fixtures::{Fault, FaultProxy, Server, wait_until};

/// How long to wait for the server to notice something. It only ends a hang: the machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(60);
/// No answer takes longer, whatever Redis does and however busy the machine is.
const GUARD: Duration = Duration::from_secs(5);
/// More memory is not needed for anything here, in pages of at least 4 KiB.
const MAX_PAGES: u64 = 50_000;

/// A policy for each failure mode, and for each way to decide.
const POLICIES: &str = "
[policy.open]
limits = [\"fixed-window 1000/year\"]
[policy.closed]
limits = [\"fixed-window 1000/year\"]
on_failure = \"deny\"
[policy.local]
limits = [\"fixed-window 1000/year\"]
on_failure = \"local\"
[policy.behind]
limits = [\"fixed-window 1000/year\"]
distribution = \"write-behind\"
[policy.ahead]
limits = [\"fixed-window 1000/year\"]
distribution = \"prefetch\"
on_failure = \"deny\"
";

/// What each policy answers without Redis: the status, and the source of the answer.
const BY_MODE: [(&str, u16, Option<&str>); 5] = [
    ("open", 200, Some("failure-mode")),
    ("closed", 503, None),
    ("local", 200, Some("local")),
    ("behind", 200, Some("failure-mode")),
    ("ahead", 503, None),
];

struct Scene {
    redis: Server,
    proxy: FaultProxy,
    serving: Serving,
    _folder: TempDir,
}

impl Scene {
    fn new() -> Option<Scene> {
        let redis = Server::redis()?;
        let (proxy, folder) = (FaultProxy::start(redis.port()), TempDir::new().unwrap());
        let config = folder.path().join("tollgate.toml");
        let url = format!("redis://127.0.0.1:{}", proxy.port());
        let store = format!("[store]\nurl = \"{url}\"\ntimeout = \"200ms\"\nnodes = 2\n");
        fs::write(&config, store + POLICIES).unwrap();
        let serving = Serving::start(&["--config", config.to_str().unwrap()]);
        Some(Scene { redis, proxy, serving, _folder: folder })
    }

    /// Checks a new key. Returns the status, and the source if the answer was made without Redis.
    fn check(&self, policy: &str, key: &str) -> (u16, Option<String>) {
        let begin = Instant::now();
        let (status, body) = self.serving.check(policy, key);
        assert!(begin.elapsed() < GUARD, "{policy}: {:?}", begin.elapsed());
        (status, body["source"].as_str().map(str::to_owned))
    }

    fn answers_by_mode(&self, key: &str) -> bool {
        BY_MODE.iter().all(|(policy, status, source)| {
            self.check(policy, key) == (*status, source.map(str::to_owned))
        })
    }

    fn is_decided_by_redis(&self, key: &str) -> bool {
        let decided = |policy: &str| self.check(policy, key) == (200, None);
        BY_MODE.iter().all(|(policy, ..)| decided(policy)) && self.serving.page("/readyz").0 == 200
    }

    /// Returns how many pages of memory the server has.
    fn pages(&self) -> Option<u64> {
        let statm =
            fs::read_to_string(format!("/proc/{}/statm", self.serving.process.id())).ok()?;
        statm.split(' ').nth(1)?.parse().ok()
    }
}

/// Repeats with new keys until it holds.
fn wait_for(what: &str, holds: impl Fn(&str) -> bool) {
    let mut round = 0;
    wait_until(what, TIMEOUT, || {
        round += 1;
        holds(&format!("{what} {round}"))
    });
}

#[test]
fn every_fault_is_answered_by_mode_and_ends() {
    let Some(scene) = Scene::new() else { return };
    let network = [
        Fault::Latency(Duration::from_millis(500)),
        Fault::Close,
        Fault::Reset,
        Fault::BlackHole,
        Fault::Trickle,
        Fault::HalfClosed,
    ];
    for fault in network {
        survives(
            &scene,
            &format!("{fault:?}"),
            |it| it.proxy.set(fault),
            |it| {
                it.proxy.set(Fault::None);
            },
        );
    }
    survives(&scene, "paused", |it| it.redis.pause(), |it| it.redis.resume());
    survives(&scene, "killed", |it| it.redis.kill(), |it| it.redis.restart());
    survives(&scene, "stopped", |it| it.redis.stop(), |it| it.redis.restart());
}

fn survives(scene: &Scene, what: &str, fail: impl Fn(&Scene), mend: impl Fn(&Scene)) {
    wait_for(&format!("before {what}"), |key| scene.is_decided_by_redis(key));
    fail(scene);
    wait_for(&format!("during {what}"), |key| scene.answers_by_mode(key));
    // Many keys and many answers, none of which hangs.
    for key in 0..100 {
        let (policy, status, _) = BY_MODE[key % BY_MODE.len()];
        assert_eq!(scene.check(policy, &format!("{what} {key}")).0, status, "{what}, {policy}");
    }
    assert_eq!(scene.serving.page("/readyz").0, 503, "{what}: a policy denies");
    let [memory, limit] = ["tollgate_layer_memory_bytes", "tollgate_layer_memory_limit_bytes"]
        .map(|name| scene.serving.sample(name));
    assert!(memory <= limit, "{what}: {memory} of {limit}");
    assert!(scene.pages().is_none_or(|pages| pages < MAX_PAGES), "{what}: {:?}", scene.pages());
    mend(scene);
    wait_for(&format!("after {what}"), |key| scene.is_decided_by_redis(key));
    wait_until("all is charged", TIMEOUT, || {
        scene.serving.sample("tollgate_layer_uncharged_keys") == 0
    });
}
