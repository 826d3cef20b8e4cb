//! `tollgate serve` while its Redis is stopped and started.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use support::Serving;
use tempfile::TempDir;
use tollgate_fixtures::{Server, wait_until};

/// How long to wait for the server to notice something. It only ends a hang: the machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Minimum time between two log lines about the store.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

struct Config {
    path: PathBuf,
    url: String,
    _dir: TempDir,
}

impl Config {
    fn new(redis: &Server, policies: &str) -> Config {
        let dir = TempDir::new().unwrap();
        let config = Config { path: dir.path().join("tollgate.toml"), url: redis.url(), _dir: dir };
        config.write(policies);
        config
    }

    /// A long timeout, so that a busy machine is not taken for an outage.
    fn write(&self, policies: &str) {
        let url = &self.url;
        let store = format!("[store]\nurl = \"{url}\"\ntimeout = \"10s\"\nnodes = 4\n");
        fs::write(&self.path, format!("{store}{policies}")).unwrap();
    }

    /// Starts a server, whose log goes to a pipe.
    fn serve(&self) -> Serving {
        Serving::with_log(&["--config", self.path.to_str().unwrap()])
    }
}

/// A policy for each failure mode.
const POLICIES: &str = "
[policy.open]
limits = [\"fixed-window 8/year\"]
[policy.closed]
limits = [\"fixed-window 8/year\"]
on_failure = \"deny\"
[policy.local]
limits = [\"fixed-window 8/year\"]
on_failure = \"local\"
";

fn wait_for_readiness(serving: &Serving, status: u16, text: &str) {
    wait_until(text, TIMEOUT, || {
        let page = serving.page("/readyz");
        page.0 == status && page.1.contains(text)
    });
}

/// Sends a command of the Redis protocol and returns the first bytes of the reply.
fn command(serving: &Serving, line: &str) -> String {
    let mut stream = serving.resp();
    stream.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    let mut reply = [0; 7];
    stream.read_exact(&mut reply).unwrap();
    String::from_utf8_lossy(&reply).into_owned()
}

#[test]
fn policies_answer_by_their_failure_mode_until_redis_is_back() {
    let Some(redis) = Server::redis() else { return };
    let config = Config::new(&redis, POLICIES);
    let serving = config.serve();
    assert!(!serving.banner.contains("unavailable"), "{}", serving.banner);
    for policy in ["open", "closed", "local"] {
        let (status, decision) = serving.check(policy, "a");
        assert_eq!((status, &decision["remaining"]), (200, &7.into()), "{decision}");
        assert_eq!((&decision["degraded"], &decision["source"]), (&().into(), &().into()));
    }
    assert_eq!(serving.page("/readyz"), (200, "ready\n".to_owned()));
    assert_eq!(serving.sample("tollgate_answers_total{source=\"store\"}"), 3);

    redis.stop();
    answers_are_degraded(&serving);
    degraded_answers_are_reported(&serving);

    // A reload changes the mode at once.
    config.write(&POLICIES.replace("deny", "allow"));
    serving.signal("HUP");
    wait_for_readiness(&serving, 200, "degraded");
    let (status, decision) = serving.check("closed", "b");
    assert_eq!((status, &decision["source"]), (200, &"failure-mode".into()), "{decision}");

    thread::sleep(LOG_INTERVAL);
    redis.restart();
    wait_for_readiness(&serving, 200, "ready");
    assert_eq!(serving.sample("tollgate_store_up"), 1);
    assert_eq!(serving.sample("tollgate_breaker_open"), 0);
    // The state was lost with Redis. What this server allowed meanwhile is charged.
    let remaining = |policy, key| serving.operate("peek", policy, key).1["remaining"].clone();
    wait_until("the outage is charged", TIMEOUT, || {
        remaining("local", "fresh") == 6 && remaining("open", "a") == 0
    });
    let (_, decision) = serving.check("local", "fresh");
    assert_eq!((&decision["remaining"], &decision["degraded"]), (&5.into(), &().into()));
    let log = serving.log();
    let lost = log.find("store unavailable: ").unwrap_or_else(|| panic!("{log}"));
    assert!(log[lost..].contains("store available again"), "{log}");
}

/// Checks each policy while Redis is stopped.
fn answers_are_degraded(serving: &Serving) {
    for _ in 0..20 {
        let (status, decision) = serving.check("open", "a");
        assert_eq!((status, &decision["allowed"]), (200, &true.into()), "{decision}");
        assert_eq!(decision["degraded"], true, "{decision}");
        assert_eq!(decision["source"], "failure-mode", "{decision}");
    }
    let (status, problem) = serving.check("closed", "a");
    assert_eq!((status, &problem["status"]), (503, &503.into()), "{problem}");
    assert!(problem["detail"].as_str().unwrap().starts_with("store unavailable: "), "{problem}");
    // A quarter of 8.
    let local: Vec<_> = (0..5).map(|_| serving.check("local", "fresh")).collect();
    let statuses: Vec<u16> = local.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 200, 429, 429, 429], "{local:?}");
    for (_, decision) in local {
        assert_eq!((&decision["limit"], &decision["source"]), (&2.into(), &"local".into()));
    }
    assert_eq!(command(serving, "TG.CHECK open a"), "*5\r\n:1\r");
    assert_eq!(command(serving, "TG.CHECK closed a"), "-TGDOWN");
    assert_eq!(command(serving, "CL.THROTTLE user-42 15 30 60"), "*5\r\n:0\r");
}

fn degraded_answers_are_reported(serving: &Serving) {
    let (status, page) = serving.page("/readyz");
    assert!(status == 503 && page.contains("store unavailable: "), "{status} {page}");
    assert_eq!(serving.page("/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(serving.sample("tollgate_store_up"), 0);
    assert_eq!(serving.sample("tollgate_nodes"), 4);
    assert_eq!(serving.sample("tollgate_answers_total{source=\"local\"}"), 5);
    // 20 over HTTP, and two over the Redis protocol.
    assert_eq!(serving.sample("tollgate_answers_total{source=\"failure-mode\"}"), 22);
    assert_eq!(serving.sample("tollgate_degraded_answers_total"), 22 + 5);
    assert!(serving.sample("tollgate_layer_uncharged_keys") >= 2);
    assert!(serving.sample("tollgate_store_failures_total") >= 22 + 5 + 2);
    assert!(serving.sample("tollgate_layer_memory_bytes") > 0);
    let url = format!("http://{}/", serving.http());
    let mut command = Command::new(cargo_bin!("tollgate"));
    let output = command.args(["check", "--server", &url, "open", "a"]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.starts_with("allowed: ") && printed.contains("degraded"), "{printed}");
}

#[test]
fn it_starts_while_redis_is_down() {
    let Some(redis) = Server::redis() else { return };
    redis.stop();
    let serving =
        Config::new(&redis, "[policy.open]\nlimits = [\"fixed-window 8/year\"]\n").serve();
    let message = "store unavailable: policies answer by on_failure until it is back";
    assert!(serving.banner.contains(message), "{}", serving.banner);
    assert_eq!(serving.sample("tollgate_store_up"), 0);
    let (status, decision) = serving.check("open", "a");
    assert_eq!((status, &decision["degraded"]), (200, &true.into()), "{decision}");
    assert_eq!(serving.page("/readyz"), (200, "degraded\n".to_owned()));
    redis.restart();
    wait_for_readiness(&serving, 200, "ready");
    assert_eq!(serving.check("open", "b").1["degraded"], serde_json::Value::Null);
    assert_eq!(serving.sample("tollgate_store_up"), 1);
    let log = serving.log();
    assert_eq!(log.matches("store unavailable: ").count(), 1, "{log}");
    assert!(log.contains("; policies answer by on_failure until it is back"), "{log}");
    assert!(log.contains("store available again"), "{log}");
}

/// The end of an outage shows, however short it was, and without any calls.
#[test]
fn a_short_outage_without_further_calls_ends_in_metrics_and_log() {
    let Some(redis) = Server::redis() else { return };
    let serving = Config::new(&redis, POLICIES).serve();
    assert_eq!(serving.check("closed", "a").0, 200);
    redis.stop();
    assert_eq!(serving.check("closed", "a").0, 503);
    assert_eq!(serving.sample("tollgate_store_up"), 0);
    redis.restart();
    wait_until("the store is up", TIMEOUT, || serving.sample("tollgate_store_up") == 1);
    thread::sleep(3 * LOG_INTERVAL);
    let log = serving.log();
    let lost = log.find("store unavailable: ").unwrap_or_else(|| panic!("{log}"));
    assert!(log[lost..].contains("store available again"), "{log}");
}

#[test]
fn a_stop_during_an_outage_logs_what_is_lost() {
    let Some(redis) = Server::redis() else { return };
    let serving = Config::new(&redis, POLICIES).serve();
    redis.stop();
    for _ in 0..5 {
        assert_eq!(serving.check("open", "a").0, 200);
    }
    let log = serving.log();
    assert!(log.contains("admitted cost that it has not counted is lost"), "{log}");
    assert!(log.contains("uncharged_keys=1"), "{log}");
}

/// A value that cannot be read concerns its own key, not the store.
#[test]
fn a_damaged_value_is_no_outage() {
    let Some(redis) = Server::redis() else { return };
    let serving = Config::new(&redis, POLICIES).serve();
    let before = redis.cli(&["keys", "*"]);
    assert_eq!(serving.check("open", "bad").0, 200);
    let after = redis.cli(&["keys", "*"]);
    let key = after.lines().find(|key| !before.contains(key)).unwrap();
    for set in [["set", key, "x"], ["lpush", key, "x"]] {
        redis.cli(&["del", key]);
        redis.cli(&set);
        // Longer than it takes the breaker to open.
        wait_until("many failures", TIMEOUT, || {
            let (status, body) = serving.check("open", "bad");
            assert!(status == 503 && body.to_string().contains("reset the key"), "{body}");
            serving.sample("tollgate_decisions_total{policy=\"open\",outcome=\"failed\"}") > 200
        });
        assert_eq!(serving.page("/readyz"), (200, "ready\n".to_owned()));
        assert_eq!(serving.sample("tollgate_store_up"), 1);
        assert_eq!(serving.sample("tollgate_breaker_open"), 0);
        assert_eq!(serving.sample("tollgate_layer_uncharged_keys"), 0);
        let (status, other) = serving.check("closed", "good");
        assert_eq!((status, &other["degraded"]), (200, &().into()), "{other}");
        assert_eq!(serving.operate("reset", "open", "bad").0, 200);
        assert_eq!(serving.check("open", "bad").1["remaining"], 7);
    }
    let log = serving.log();
    assert!(!log.contains("store unavailable"), "{log}");
}

/// A Redis that is out of memory or read-only answers what it need not write, such as denials.
#[test]
fn a_store_that_cannot_write_is_unavailable() {
    let Some(redis) = Server::redis() else { return };
    let config = Config::new(&redis, POLICIES);
    let serving = config.serve();
    while serving.check("open", "denied").0 == 200 {}
    let faults: [[&[&str]; 2]; 2] = [
        [&["config", "set", "maxmemory", "1"], &["config", "set", "maxmemory", "0"]],
        [&["replicaof", "127.0.0.1", "1"], &["replicaof", "no", "one"]],
    ];
    for [begin, end] in faults {
        assert_eq!(serving.page("/readyz"), (200, "ready\n".to_owned()));
        redis.cli(begin);
        // Before any check has failed.
        assert_eq!(serving.page("/readyz").0, 503, "{begin:?}");
        for _ in 0..10 {
            assert_eq!(serving.check("closed", "a").0, 503);
            serving.check("open", "denied");
            serving.operate("peek", "open", "a");
            assert_eq!(serving.sample("tollgate_store_up"), 0);
        }
        wait_until("the breaker opens", TIMEOUT, || {
            serving.check("open", "a");
            serving.sample("tollgate_breaker_open") == 1
        });
        // Longer than between two probes.
        thread::sleep(LOG_INTERVAL);
        assert_eq!(serving.sample("tollgate_breaker_open"), 1);
        let (status, page) = serving.page("/readyz");
        assert_eq!((status, page.contains("store unavailable")), (503, true), "{page}");
        redis.cli(end);
        wait_until("the store is up", TIMEOUT, || serving.sample("tollgate_store_up") == 1);
        assert_eq!(serving.sample("tollgate_breaker_open"), 0);
    }
    thread::sleep(3 * LOG_INTERVAL);
    let log = serving.log();
    assert_eq!(log.matches("store available again").count(), 2, "{log}");
}

/// Only the store can count leases, whatever the failure mode.
#[test]
fn a_policy_with_concurrency_is_not_ready_without_the_store() {
    let Some(redis) = Server::redis() else { return };
    let config = Config::new(&redis, "[policy.db]\nlimits = [\"concurrency 2 ttl 30s\"]\n");
    let serving = config.serve();
    assert_eq!(serving.page("/readyz").0, 200);
    redis.stop();
    assert_eq!(serving.page("/readyz").0, 503);
    assert_eq!(serving.check("db", "a").0, 503);
}
