//! The layers around a remote store: readiness, degraded answers and metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tollgate::layers::Layers;
use tollgate::{Clock, MemoryStore};
use tollgate_server::{Server, ServerBuilder};

use crate::metrics::{decisions, samples};
use crate::store_failures::SwitchableStore;
use crate::support::Client;
use crate::support::http::Response;
use crate::{Fixture, policies};

/// A server on a store with layers, which can be switched off.
pub(crate) struct Layered {
    pub(crate) store: Arc<SwitchableStore>,
    pub(crate) server: Server,
    pub(crate) client: Client,
}

impl Layered {
    pub(crate) fn new(toml: &str) -> Layered {
        let clock = Clock::manual();
        let memory = MemoryStore::builder().clock(clock.clone()).build().unwrap();
        let store = Arc::new(SwitchableStore { memory, is_down: AtomicBool::new(false) });
        // A long timeout, so that a busy machine is not taken for an outage.
        let layers = Layers::new().clock(clock).timeout(Duration::from_secs(60)).nodes(4);
        let builder = Server::builder()
            .layered(layers.around(Arc::<SwitchableStore>::clone(&store)))
            .http("127.0.0.1:0".parse().unwrap())
            .threads(1);
        let server = policies(toml).into_iter().fold(builder, ServerBuilder::policy).start();
        let server = server.unwrap();
        Layered { store, client: Client::http(&server), server }
    }

    fn set_down(&self, is_down: bool) {
        self.store.is_down.store(is_down, Ordering::Relaxed);
    }

    fn ready(&mut self) -> (u16, String) {
        let Response { status, body, .. } = self.client.get("/readyz");
        (status, body)
    }

    /// Waits until the store is asked again.
    fn wait_until_ready(&mut self) {
        while self.ready() != (200, "ready\n".to_owned()) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn check(&mut self, json: &str) -> (u16, Value) {
        let response = self.client.post("/v1/check", json);
        (response.status, response.json())
    }
}

/// Whether the server is ready while the store is unavailable, by the options of its only policy.
#[test]
fn readiness_depends_on_what_policies_do_without_the_store() {
    let gcra = "limits = [\"gcra 1/s burst 4\"]\n";
    let leases = "limits = [\"gcra 1/s burst 4\", \"concurrency 2 ttl 30s\"]\n";
    for (limits, options, status) in [
        (gcra, "", 200),
        (gcra, "on_failure = \"allow\"", 200),
        (gcra, "on_failure = \"local\"", 200),
        (gcra, "on_failure = \"deny\"", 503),
        (gcra, "on_failure = \"deny\"\nenforce = \"shadow\"", 503),
        (gcra, "on_failure = \"deny\"\nenforce = \"off\"", 200),
        ("limits = [\"unlimited\"]\n", "on_failure = \"deny\"", 200),
        (leases, "", 503),
        (leases, "on_failure = \"local\"", 503),
        (leases, "enforce = \"off\"", 200),
    ] {
        let case = format!("{limits}{options}");
        let layered = &mut Layered::new(&format!("[policy.default]\n{case}"));
        assert_eq!(layered.ready(), (200, "ready\n".to_owned()), "{case}");
        layered.set_down(true);
        let (actual, body) = layered.ready();
        assert_eq!(actual, status, "{case}: {body}");
        match status {
            200 => assert_eq!(body, "degraded\n", "{case}"),
            _ => assert!(body.contains("store unavailable: the cable was cut"), "{case}: {body}"),
        }
        let (check, answer) = layered.check("{\"key\":\"a\"}");
        assert_eq!(check, status, "{case}: {answer}");
        layered.set_down(false);
        layered.wait_until_ready();
    }
}

#[test]
fn degraded_answers_say_so() {
    let layered = &mut Layered::new(
        "[policy.default]\nlimits = [\"gcra 1/s burst 8\"]\n\
         [policy.local]\nlimits = [\"gcra 1/s burst 8\"]\non_failure = \"local\"\n",
    );
    let (_, decision) = layered.check("{\"key\":\"a\"}");
    assert!(decision.get("degraded").is_none() && decision.get("source").is_none());
    layered.set_down(true);
    let allowed = layered.client.post("/v1/check", "{\"key\":\"a\"}");
    let expected = "{\"allowed\":true,\"limit\":8,\"remaining\":7,\"retry_after_ms\":0,\
                    \"reset_after_ms\":1000,\"degraded\":true,\"source\":\"failure-mode\",\
                    \"policy\":\"default\",\"bound_by\":\"gcra 1/s burst 8\"}";
    assert_eq!((allowed.status, allowed.body.as_str()), (200, expected));
    // A quarter of the limit, in the header fields as well.
    let response = layered.client.get("/check?policy=local&key=a");
    assert_eq!(response.header("ratelimit"), Some("\"local\";r=1;t=4"), "{response:?}");
    let local = "{\"policy\":\"local\",\"key\":\"a\"}";
    assert_eq!(layered.check(local).0, 200);
    let denied = layered.client.post("/v1/check", local);
    assert_eq!((denied.status, &denied.json()["source"]), (429, &"local".into()));
    assert_eq!(denied.header("retry-after"), Some("4"), "{denied:?}");
    let batch = "{\"checks\":[{\"key\":\"b\"},{\"key\":\"b\",\"policy\":\"local\"}]}";
    let results = layered.client.post("/v1/check/batch", batch).json();
    assert_eq!(results["results"][0]["source"], "failure-mode", "{results}");
    assert_eq!(results["results"][1]["source"], "local", "{results}");
    // What is not a check or a peek is an error.
    for path in ["/v1/charge", "/v1/refund", "/v1/reset", "/v1/reserve"] {
        let response = layered.client.post(path, "{\"key\":\"a\",\"id\":\"x\"}");
        assert_eq!(response.status, 503, "{path}: {response:?}");
    }
}

/// Header fields need nothing that only the store knows, also where limits count in different units.
#[test]
fn denials_of_policies_with_units_are_repeated() {
    let layered = &mut Layered::new(
        "[policy.default]\nlimits = [\"gcra 1/s burst 9\", \"gcra 5/s of tokens\"]",
    );
    let check = "{\"key\":\"a\",\"costs\":{\"tokens\":5}}";
    assert_eq!(layered.check(check).0, 200);
    let answers = |layered: &mut Layered| samples(&mut layered.client)["tollgate_answers_total{source=\"cache\"}"];
    let denied = layered.client.post("/v1/check", "{\"key\":\"a\",\"costs\":{\"tokens\":1}}");
    assert_eq!((denied.status, answers(layered)), (429, 0.0), "{denied:?}");
    let repeated = layered.client.post("/v1/check", "{\"key\":\"a\",\"costs\":{\"tokens\":1}}");
    assert_eq!((repeated.status, answers(layered)), (429, 1.0), "{repeated:?}");
    for name in ["ratelimit", "ratelimit-policy", "retry-after"] {
        assert_eq!(repeated.header(name), denied.header(name), "{name}");
    }
    assert_eq!(repeated.header("ratelimit"), Some("\"default-2\";r=0;t=1"), "{repeated:?}");
}

#[test]
fn a_reload_changes_the_failure_mode_at_once() {
    let layered = &mut Layered::new("[policy.default]\nlimits = [\"gcra 1/s burst 4\"]");
    layered.set_down(true);
    for (mode, status) in [("allow", 200), ("deny", 503), ("local", 200), ("allow", 200)] {
        let toml =
            format!("[policy.default]\nlimits = [\"gcra 1/s burst 4\"]\non_failure = \"{mode}\"");
        layered.server.set_policies(&policies(&toml)).unwrap();
        let (actual, body) = layered.check(&format!("{{\"key\":\"{mode}\"}}"));
        assert_eq!(actual, status, "{mode}: {body}");
        assert_eq!(layered.ready().0, status, "{mode}");
    }
}

#[test]
fn answers_are_counted_by_their_source() {
    let layered = &mut Layered::new(
        "[policy.default]\nlimits = [\"gcra 1/s burst 2\"]\n\
         [policy.local]\nlimits = [\"gcra 1/s burst 8\"]\non_failure = \"local\"\n\
         [policy.deny]\nlimits = [\"gcra 1/s burst 8\"]\non_failure = \"deny\"\n",
    );
    for _ in 0..5 {
        layered.check("{\"key\":\"a\"}");
    }
    // Neither is a decision.
    layered.client.post("/v1/peek", "{\"key\":\"b\"}");
    layered.ready();
    layered.set_down(true);
    layered.check("{\"key\":\"b\"}");
    layered.check("{\"key\":\"b\",\"policy\":\"local\"}");
    layered.check("{\"key\":\"b\",\"policy\":\"deny\"}");
    let metrics = samples(&mut layered.client);
    let answers = |source: &str| metrics[&format!("tollgate_answers_total{{source=\"{source}\"}}")];
    let counts = ["store", "cache", "prefetch", "local", "failure-mode"].map(answers);
    // The second check leaves nothing, so that the denials after it are known.
    assert_eq!(counts, [2.0, 3.0, 0.0, 1.0, 1.0]);
    assert_eq!(metrics["tollgate_layer_calls_saved_total{layer=\"deny_cache\"}"], 3.0);
    assert_eq!(metrics["tollgate_layer_calls_saved_total{layer=\"coalesce\"}"], 0.0);
    assert_eq!(metrics["tollgate_store_failures_total"], 3.0);
    assert_eq!(metrics["tollgate_layer_memory_limit_bytes"], 67_108_864.0);
    assert!(metrics["tollgate_layer_memory_bytes"] > 0.0);
    assert_eq!((metrics["tollgate_nodes"], metrics["tollgate_store_up"]), (4.0, 0.0));
    assert_eq!(metrics["tollgate_breaker_open"], 0.0);
    assert_eq!(metrics[&decisions("deny", "failed")], 1.0);
}

/// A denial that a layer repeats does not mean that the store is back.
#[test]
fn only_the_store_itself_counts_as_up() {
    let layered = &mut Layered::new("[policy.default]\nlimits = [\"gcra 1/s burst 1\"]");
    assert_eq!(layered.check("{\"key\":\"a\"}").0, 200);
    layered.set_down(true);
    assert_eq!(layered.check("{\"key\":\"b\"}").1["degraded"], true);
    assert_eq!(samples(&mut layered.client)["tollgate_store_up"], 0.0);
    let (status, repeated) = layered.check("{\"key\":\"a\"}");
    assert!(status == 429 && repeated.get("degraded").is_none(), "{repeated}");
    let (status, unlimited) = layered.check("{\"key\":\"a\",\"factor\":0}");
    assert!(status == 200 && unlimited.get("degraded").is_none(), "{unlimited}");
    assert_eq!(samples(&mut layered.client)["tollgate_store_up"], 0.0);
    layered.set_down(false);
    layered.wait_until_ready();
    assert_eq!(samples(&mut layered.client)["tollgate_store_up"], 1.0);
}

/// After some failures the store is asked only now and then. What needs no state is answered all the same.
#[test]
fn an_open_breaker_denies_nothing_that_needs_no_state() {
    let layered = &mut Layered::new(
        "[policy.default]\nlimits = [\"gcra 1/s\"]\non_failure = \"deny\"\n\
         [policy.off]\nlimits = [\"gcra 1/s\"]\non_failure = \"deny\"\nenforce = \"off\"\n",
    );
    layered.set_down(true);
    while samples(&mut layered.client)["tollgate_breaker_open"] == 0.0 {
        assert_eq!(layered.check("{\"key\":\"a\"}").0, 503);
        std::thread::sleep(Duration::from_millis(5));
    }
    let off = "{\"policy\":\"off\",\"key\":\"a\"}";
    let (status, decision) = layered.check(off);
    assert!(status == 200 && decision.get("degraded").is_none(), "{decision}");
    assert_eq!(samples(&mut layered.client)["tollgate_breaker_open"], 1.0);
    let batch = format!("{{\"checks\":[{off},{{\"key\":\"a\"}},{off}]}}");
    let results = layered.client.post("/v1/check/batch", &batch).json();
    assert_eq!(results["results"][0]["allowed"], true, "{results}");
    assert_eq!(results["results"][1]["status"], 503, "{results}");
    assert_eq!(results["results"][2]["allowed"], true, "{results}");
    layered.set_down(false);
    layered.wait_until_ready();
    assert_eq!(layered.check("{\"key\":\"a\"}").0, 200);
}

/// A failure mode says nothing about the candidate.
#[test]
fn degraded_answers_are_not_compared_with_the_candidate() {
    let layered = &mut Layered::new(
        "[policy.default]\nlimits = [\"gcra 1/s burst 8\"]\ncandidate = [\"gcra 1/s burst 4\"]\n\
         on_failure = \"local\"\n",
    );
    layered.set_down(true);
    for _ in 0..3 {
        layered.check("{\"key\":\"a\"}");
    }
    let metrics = samples(&mut layered.client);
    let differences = metrics.iter().filter(|(name, _)| name.contains("candidate_differences"));
    assert_eq!(differences.map(|(_, count)| count).sum::<f64>(), 0.0, "{metrics:#?}");
}

/// Where the store is in memory, there is nothing between: every check is decided by it.
#[test]
fn a_memory_store_has_no_layers() {
    let fixture = &mut Fixture::new(
        "[policy.default]\nlimits = [\"gcra 1/s\"]\ndistribution = \"write-behind\"",
    );
    fixture.check("default", "a");
    let metrics = samples(&mut fixture.client);
    for name in ["answers", "layer", "breaker", "nodes", "store_failures", "over"] {
        let name = format!("tollgate_{name}");
        assert!(!metrics.keys().any(|known| known.starts_with(&name)), "{name}: {metrics:#?}");
    }
    assert_eq!(metrics["tollgate_store_up"], 1.0);
}
