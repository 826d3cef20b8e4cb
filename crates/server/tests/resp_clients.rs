//! Real clients with their default settings: each connects, checks, gets an error, sends a pipeline of a
//! hundred commands, and disconnects.
//!
//! The scripts in `resp_clients` are for clients in other languages. Each prints the replies as one line of
//! JSON.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::io::{self, Write as _};
use std::process::Output;

use serde_json::{Value, json};
use tollgate_core::{Name, Policy};
use tollgate_fixtures::Client;
use tollgate_server::Server;

/// The error for an unknown policy.
const ERROR: &str = "unknown policy 'nope': expected one of api, bench";

/// The burst of the policy `bench`, which does not refill before the tests are done.
const BENCH_BURST: u32 = 10_000;

fn server() -> Server {
    let policy =
        |name: &str, limit: &str| Policy::parse(Name::new(name).unwrap(), [limit]).unwrap();
    Server::builder()
        .policy(policy("api", "gcra 1/min burst 5"))
        .policy(policy("bench", &format!("gcra 1/day burst {BENCH_BURST}")))
        .resp("127.0.0.1:0".parse().unwrap())
        .threads(2)
        .start()
        .unwrap()
}

fn port(server: &Server) -> String {
    server.resp().unwrap().port().to_string()
}

/// Prints the version of a client. The test harness does not capture it, as with the fixtures.
fn print_version(version: &str) {
    let _ = io::stderr().write_all(format!("{version}\n").as_bytes());
}

/// Returns the output of a program that succeeded and printed no errors.
#[track_caller]
fn stdout(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|out| String::from_utf8_lossy(out));
    assert!(output.status.success(), "{}: {stdout}{stderr}", output.status);
    assert_eq!(stderr, "", "{stdout}");
    stdout.into_owned()
}

/// A client in another language, and its peculiarities.
struct Script {
    name: &'static str,
    args: &'static [&'static str],
    /// Its value for the reply `PONG`.
    ping: Value,
    /// Its prefix of error messages.
    error_prefix: &'static str,
    /// The protocol version it negotiates.
    protocol: u32,
}

impl Script {
    fn run(self, client: &Client) {
        let server = server();
        let path = format!("{}/tests/resp_clients/{}", env!("CARGO_MANIFEST_DIR"), self.name);
        let port = port(&server);
        let args = [&[path.as_str(), &port], self.args].concat();
        let mut got: Value = serde_json::from_str(&stdout(&client.run(&args, ""))).unwrap();
        let (version, session) = (got["client"].take(), got["session"].take());
        print_version(version.as_str().unwrap());
        let protocol = format!("resp={}", self.protocol);
        assert!(session.as_str().unwrap().contains(&protocol), "{session}: expected {protocol}");
        let expected = json!({
            "client": null,
            "session": null,
            "ping": self.ping,
            "throttle": [0, 16, 15, -1, 2],
            "check": [1, 5, 3, 0, 120_000],
            "refusal": format!("{}{ERROR}", self.error_prefix),
            "pipeline": pipeline(&got["pipeline"]),
        });
        assert_eq!(got, expected);
    }
}

/// The expected replies to `ECHO n` and `CL.THROTTLE pipeline 49 1 86400`, fifty times each in turn.
fn pipeline(got: &Value) -> Value {
    (0..50)
        .flat_map(|number| {
            // `reset_after` depends on how long the test took.
            let reset_after = &got[2 * number + 1][4];
            [json!(number.to_string()), json!([0, 50, 49 - number, -1, reset_after])]
        })
        .collect()
}

#[test]
fn redis_py() {
    let Some(client) = Client::python() else { return };
    let script = |kind, protocol| Script {
        name: "redis_py.py",
        args: kind,
        ping: json!(true),
        error_prefix: "",
        protocol,
    };
    script(&["defaults"], 3).run(&client);
    script(&["resp2"], 2).run(&client);
    script(&["asyncio"], 3).run(&client);
}

#[test]
fn node_redis() {
    let Some(client) = Client::node() else { return };
    let ping = json!("PONG");
    Script { name: "node_redis.mjs", args: &[], ping, error_prefix: "ERR ", protocol: 3 }
        .run(&client);
}

#[test]
fn ioredis() {
    let Some(client) = Client::node() else { return };
    let ping = json!("PONG");
    Script { name: "ioredis.mjs", args: &[], ping, error_prefix: "ERR ", protocol: 3 }.run(&client);
}

/// Commands and the output of `redis-cli` for them.
fn commands() -> [(&'static [&'static str], String); 4] {
    [
        (&["PING"], "PONG".to_owned()),
        (&["CL.THROTTLE", "key", "15", "30", "60"], "0\n16\n15\n-1\n2".to_owned()),
        (&["TG.CHECK", "api", "alice", "COST", "2"], "1\n5\n3\n0\n120000".to_owned()),
        (&["TG.CHECK", "nope", "alice"], format!("ERR {ERROR}\n")),
    ]
}

fn redis_cli() -> Option<Client> {
    let client = Client::redis_cli()?;
    print_version(stdout(&client.run(&["--version"], "")).trim());
    Some(client)
}

#[test]
fn redis_cli_with_one_command() {
    let Some(client) = redis_cli() else { return };
    for (options, protocol) in [(&[][..], 2), (&["-3"], 3), (&["-n", "0"], 2)] {
        let server = server();
        let port = port(&server);
        let run =
            |words: &[&str]| stdout(&client.run(&[&["-p", &port], options, words].concat(), ""));
        for (words, expected) in commands() {
            assert_eq!(run(words), format!("{expected}\n"), "{options:?} {words:?}");
        }
        let session = run(&["CLIENT", "INFO"]);
        assert!(session.contains(&format!("resp={protocol}")), "{options:?}: {session}");
    }
}

/// It sends `COMMAND DOCS` first, and takes its help from there.
#[test]
fn redis_cli_with_many_commands() {
    let Some(client) = redis_cli() else { return };
    for options in [&[][..], &["-3"], &["-n", "0"]] {
        let server = server();
        let commands = commands();
        let mut input: String = commands.iter().map(|(words, _)| words.join(" ") + "\n").collect();
        input.push_str("HELP TG.CHECK\nQUIT\n");
        let port = port(&server);
        let args = [&["-p", &port], options].concat();
        let output = stdout(&client.run(&args, &input));
        let expected: String = commands.into_iter().map(|(_, expected)| expected + "\n").collect();
        let help =
            output.strip_prefix(&expected).unwrap_or_else(|| panic!("{options:?}: {output}"));
        assert!(help.contains("TG.CHECK") && help.contains("summary"), "{options:?}: {help}");
    }
}

#[test]
fn redis_cli_with_a_pipeline() {
    let Some(client) = redis_cli() else { return };
    let server = server();
    let args = ["-p", &port(&server)];
    let command =
        "*5\r\n$11\r\nCL.THROTTLE\r\n$8\r\npipeline\r\n$3\r\n119\r\n$1\r\n1\r\n$5\r\n86400\r\n";
    let output = stdout(&client.run(&[&args[..], &["--pipe"]].concat(), &command.repeat(100)));
    assert!(output.contains("errors: 0, replies: 100"), "{output}");
    let peek = ["CL.THROTTLE", "pipeline", "119", "1", "86400", "0"];
    let output = stdout(&client.run(&[&args[..], &peek].concat(), ""));
    assert!(output.starts_with("0\n120\n20\n-1\n"), "{output}");
}

#[test]
fn redis_benchmark() {
    let Some(client) = Client::redis_benchmark() else { return };
    print_version(stdout(&client.run(&["--version"], "")).trim());
    let server = server();
    let port = port(&server);
    let run = |words: &[&str]| {
        let options = ["-p", &port, "-q", "-n", "2000", "-c", "10", "-P", "8"];
        client.run(&[&options[..], words].concat(), "")
    };
    for (words, tests) in [
        (&["-t", "ping"][..], &["PING_INLINE", "PING_MBULK"][..]),
        (&["PING"], &["PING"]),
        (&["-3", "PING"], &["PING"]),
        (&["CL.THROTTLE", "key:__rand_int__", "15", "30", "60"], &["CL.THROTTLE"]),
        (&["-r", "100", "CL.THROTTLE", "key:__rand_int__", "15", "30", "60"], &["CL.THROTTLE"]),
        (&["TG.CHECK", "bench", "all"], &["TG.CHECK"]),
    ] {
        let output = stdout(&run(words));
        assert!(tests.iter().all(|test| output.contains(test)), "{words:?}: {output}");
        assert_eq!(
            output.matches("requests per second").count(),
            tests.len(),
            "{words:?}: {output}"
        );
    }
    // It stops at the first error.
    let output = run(&["TG.CHECK", "nope", "all"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains(ERROR), "{stderr}");
    // Each check was counted exactly once.
    let Some(client) = Client::redis_cli() else { return };
    let output = stdout(&client.run(&["-p", &port, "TG.PEEK", "bench", "all"], ""));
    assert!(
        output.starts_with(&format!("1\n{BENCH_BURST}\n{}\n", BENCH_BURST - 2_000)),
        "{output}"
    );
}
