//! schemathesis reads `/openapi.json`, sends valid and invalid requests, and finds no violation.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use tollgate_core::{Name, Policy};
use tollgate_fixtures::Client;
use tollgate_server::Server;

/// Starts schemathesis in a Python that finds it by PYTHONPATH.
const RUN: &str = "from schemathesis.cli import schemathesis; schemathesis()";
const CONFIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schemathesis.toml");

fn policy(name: &str, lines: &[&str]) -> Policy {
    Policy::parse(Name::new(name).unwrap(), lines).unwrap()
}

fn server() -> Server {
    Server::builder()
        .http("127.0.0.1:0".parse().unwrap())
        .policy(policy("default", &["gcra 1000000/s burst 1000000"]))
        .policy(policy("tight", &["fixed-window 1/year"]))
        .policy(policy("jobs", &["concurrency 2 ttl 30s"]))
        .policy(policy("login", &["gcra 5/min per ip", "concurrency 10 ttl 30s per user"]))
        .start()
        .unwrap()
}

/// Runs schemathesis with these flags.
#[track_caller]
fn assert_conforms(flags: &[&str]) {
    let Some(schemathesis) = Client::schemathesis() else { return };
    let server = server();
    let url = format!("http://{}/openapi.json", server.http().unwrap());
    let options = ["--checks", "all", "--max-examples", "25", "--seed", "1", "--no-color"];
    let args = ["-c", RUN, "--config-file", CONFIG, "run", &url];
    let output = schemathesis.run(&[args.as_slice(), &options, flags].concat(), "");
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|out| String::from_utf8_lossy(out));
    assert!(output.status.success(), "{stdout}{stderr}");
}

#[test]
fn the_api_conforms_to_its_schema() {
    assert_conforms(&["--exclude-path", "/check"]);
}

/// This path accepts any method, also those that OpenAPI 3.1 cannot describe.
#[test]
fn the_proxy_check_conforms_to_its_schema() {
    assert_conforms(&["--include-path", "/check", "--exclude-checks", "unsupported_method"]);
}
