//! schemathesis reads `/openapi.json`, asks whatever it allows and forbids, and finds nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use tollgate_core::{Name, Policy};
use tollgate_fixtures::Client;
use tollgate_server::Server;

/// Its command line, for a Python that finds it by PYTHONPATH.
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
        .policy(policy("login", &["gcra 5/min per ip", "concurrency 10 ttl 30s per user"]))
        .start()
        .unwrap()
}

/// Asks whatever these flags leave.
#[track_caller]
fn finds_nothing(flags: &[&str]) {
    let Some(schemathesis) = Client::schemathesis() else { return };
    let server = server();
    let url = format!("http://{}/openapi.json", server.http().unwrap());
    let how = ["--checks", "all", "--max-examples", "25", "--seed", "1", "--no-color"];
    let args = ["-c", RUN, "--config-file", CONFIG, "run", &url];
    let ran = schemathesis.run(&[args.as_slice(), &how, flags].concat(), "");
    let [said, complaint] = [&ran.stdout, &ran.stderr].map(|out| String::from_utf8_lossy(out));
    assert!(ran.status.success(), "{said}{complaint}");
}

#[test]
fn nothing_is_found() {
    finds_nothing(&["--exclude-path", "/check"]);
}

/// Any method may be sent here, also those that OpenAPI 3.1 has no word for.
#[test]
fn nothing_is_found_by_proxies() {
    finds_nothing(&["--include-path", "/check", "--exclude-checks", "unsupported_method"]);
}
