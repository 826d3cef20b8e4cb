//! `distribution` of policies: the bounds it promises, as metrics; and what a server leaves behind.

use serde_json::json;
use tollgate::layers::{Distribution, WriteBehind};
use tollgate_core::{Act, Name, Policy, Request};

use crate::layers::Layered;
use crate::metrics::samples;
use crate::policies;
use crate::support::Client;

/// The start of a sample, up to the name of the policy.
const BOUND: &str = "tollgate_over_admission_bound{policy=\"";

/// With four nodes. A bound is that of the greatest limit, and of the policy as it is now.
#[test]
fn bounds_on_over_admission_are_exported() {
    let layered = &mut Layered::new(
        "[policy.strict]\nlimits = [\"sliding-log 1000/s\"]\n\
         [policy.written]\nlimits = [\"sliding-log 1000/s\", \"fixed-window 40/s\"]\n\
         distribution = \"write-behind\"\n\
         [policy.small]\nlimits = [\"gcra 1/s burst 4\"]\n\
         distribution = \"write-behind\"\ncap = \"0.01%\"\n\
         [policy.ahead]\nlimits = [\"sliding-log 1000/s\"]\n\
         distribution = \"prefetch\"\nmax_slice = \"20%\"\n\
         [policy.all]\nlimits = [\"sliding-log 1000/s\"]\n\
         distribution = \"prefetch\"\nmax_slice = \"100%\"\n\
         [policy.off]\nlimits = [\"sliding-log 1000/s\"]\n\
         distribution = \"prefetch\"\nenforce = \"off\"\n",
    );
    let bounds = |client: &mut Client| -> Vec<(String, f64)> {
        let metrics = samples(client).into_iter();
        let bound = |name: &str| Some(name.strip_prefix(BOUND)?.strip_suffix("\"}")?.to_owned());
        metrics.filter_map(|(name, value)| Some((bound(&name)?, value))).collect()
    };
    let expected =
        [("ahead", 800.0), ("all", 1000.0), ("off", 0.0), ("small", 3.0), ("written", 150.0)];
    let expected = expected.map(|(policy, bound)| (policy.to_owned(), bound));
    assert_eq!(bounds(&mut layered.client), expected);
    let listed = layered.client.get("/v1/policies").json();
    let settings =
        &listed["policies"].as_array().unwrap().iter().find(|one| one["name"] == "small");
    let expected = json!({"flush_ms": 10, "cap": "0.01%", "read": "sync"});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(settings.unwrap()[key], *value, "{listed}");
    }
    let metrics = samples(&mut layered.client);
    for name in ["over_admitted_total", "layer_unwritten", "layer_prefetched"] {
        assert_eq!(metrics[&format!("tollgate_{name}")], 0.0);
    }
    layered.server.set_policies(&policies("[policy.written]\nlimits = [\"gcra 1/s\"]")).unwrap();
    assert_eq!(bounds(&mut layered.client), []);
}

/// Beyond the policies with bounds of their own, only the greatest shows.
#[test]
fn the_number_of_bounds_is_limited() {
    let policy = |number: usize| {
        let limit = 20 * (number + 1);
        format!(
            "[policy.p{number:05}]\nlimits = [\"fixed-window {limit}/day\"]\n\
             distribution = \"prefetch\"\n"
        )
    };
    let layered = &mut Layered::new(&(0..1_200).map(policy).collect::<String>());
    let metrics = samples(&mut layered.client);
    let bound = |policy: &str| metrics[&format!("{BOUND}{policy}\"}}")];
    assert_eq!((bound("p00999"), bound("(others)")), (4_000.0, 4_800.0));
    assert_eq!(metrics.keys().filter(|name| name.starts_with(BOUND)).count(), 1_001);
}

/// Policies that are not from a config file are checked, too.
#[test]
fn a_distribution_that_is_not_possible_is_an_error() {
    let layered = &mut Layered::new("");
    for (limits, expected) in [
        ("[\"concurrency 2 ttl 30s\"]", "expected strict for \"concurrency 2 ttl 30s\""),
        ("[\"gcra 1/s\", \"gcra 1/s per ip\"]", "expected strict for limits of different subjects"),
    ] {
        let mut policies = policies(&format!("[policy.a]\nlimits = {limits}\n"));
        policies[0].distribution = Distribution::WriteBehind(WriteBehind::default());
        let error = layered.server.set_policies(&policies).unwrap_err().to_string();
        let message = format!("the distribution of a is \"write-behind\"; {expected}");
        assert!(error.contains(&message), "{error}");
    }
}

/// What was admitted is charged, and what was taken ahead is given back.
#[test]
fn a_server_that_stops_leaves_an_exact_count() {
    for (settings, gauge) in [
        ("distribution = \"write-behind\"\nflush = \"1s\"", "tollgate_layer_unwritten"),
        ("distribution = \"prefetch\"\nmax_slice = \"50%\"", "tollgate_layer_prefetched"),
    ] {
        let limit = "fixed-window 100/day";
        let mut layered =
            Layered::new(&format!("[policy.default]\nlimits = [\"{limit}\"]\n{settings}"));
        for _ in 0..10 {
            assert_eq!(layered.check("{\"key\":\"a\"}").0, 200);
        }
        println!("{gauge} {}", samples(&mut layered.client)[gauge]);
        let Layered { store, server, .. } = layered;
        server.stop();
        let policy = Policy::parse(Name::default(), [limit]).unwrap();
        let peek =
            Request::of("a").with_op(&policy, Act::Peek, |op| store.memory.apply_one(op, None));
        assert_eq!(peek.unwrap().unwrap().remaining, Some(90), "{settings}");
    }
}
