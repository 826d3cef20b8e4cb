//! Real clients with their defaults: each connects, asks, is refused, sends a hundred commands at
//! once, and leaves.
//!
//! The scripts in `resp_clients` are for clients in other languages. Each prints one line of JSON
//! with what it got.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::io::{self, Write as _};
use std::process::Output;

use serde_json::{Value, json};
use tollgate_core::{Name, Policy};
use tollgate_fixtures::Client;
use tollgate_server::Server;

/// What is said of a policy that is not there.
const REFUSAL: &str = "unknown policy 'nope': expected one of api, bench";

/// How many fit into the policy `bench`, which has none of them back before the tests are done.
const BENCH: u32 = 10_000;

fn server() -> Server {
    let policy =
        |name: &str, limit: &str| Policy::parse(Name::new(name).unwrap(), [limit]).unwrap();
    Server::builder()
        .policy(policy("api", "gcra 1/min burst 5"))
        .policy(policy("bench", &format!("gcra 1/day burst {BENCH}")))
        .resp("127.0.0.1:0".parse().unwrap())
        .threads(2)
        .start()
        .unwrap()
}

fn port(server: &Server) -> String {
    server.resp().unwrap().port().to_string()
}

/// Says with which version something was tested, past the test harness, as the fixtures do.
fn say(version: &str) {
    let _ = io::stderr().write_all(format!("{version}\n").as_bytes());
}

/// What a program printed that ended well and complained of nothing.
#[track_caller]
fn printed(output: &Output) -> String {
    let [said, complaint] =
        [&output.stdout, &output.stderr].map(|out| String::from_utf8_lossy(out));
    assert!(output.status.success(), "{}: {said}{complaint}", output.status);
    assert_eq!(complaint, "", "{said}");
    said.into_owned()
}

/// A client in another language, and what about it is its own.
struct Script {
    name: &'static str,
    args: &'static [&'static str],
    /// What it makes of `PONG`.
    ping: Value,
    /// What it puts before the text of an error.
    refusal: &'static str,
    /// The version of the protocol it asks for.
    protocol: u32,
}

impl Script {
    fn run(self, client: &Client) {
        let server = server();
        let path = format!("{}/tests/resp_clients/{}", env!("CARGO_MANIFEST_DIR"), self.name);
        let port = port(&server);
        let args = [&[path.as_str(), &port], self.args].concat();
        let mut got: Value = serde_json::from_str(&printed(&client.run(&args, ""))).unwrap();
        let (version, session) = (got["client"].take(), got["session"].take());
        say(version.as_str().unwrap());
        let protocol = format!("resp={}", self.protocol);
        assert!(session.as_str().unwrap().contains(&protocol), "{session}: expected {protocol}");
        let expected = json!({
            "client": null,
            "session": null,
            "ping": self.ping,
            "throttle": [0, 16, 15, -1, 2],
            "check": [1, 5, 3, 0, 120_000],
            "refusal": format!("{}{REFUSAL}", self.refusal),
            "pipeline": pipeline(&got["pipeline"]),
        });
        assert_eq!(got, expected);
    }
}

/// What fifty times `ECHO n` and `CL.THROTTLE pipeline 49 1 86400` are to get, in turn.
fn pipeline(got: &Value) -> Value {
    (0..50)
        .flat_map(|number| {
            // When all is back depends on how long this took.
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
        refusal: "",
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
    Script { name: "node_redis.mjs", args: &[], ping, refusal: "ERR ", protocol: 3 }.run(&client);
}

#[test]
fn ioredis() {
    let Some(client) = Client::node() else { return };
    let ping = json!("PONG");
    Script { name: "ioredis.mjs", args: &[], ping, refusal: "ERR ", protocol: 3 }.run(&client);
}

/// Commands, and what `redis-cli` prints for them.
fn conversation() -> [(&'static [&'static str], String); 4] {
    [
        (&["PING"], "PONG".to_owned()),
        (&["CL.THROTTLE", "key", "15", "30", "60"], "0\n16\n15\n-1\n2".to_owned()),
        (&["TG.CHECK", "api", "alice", "COST", "2"], "1\n5\n3\n0\n120000".to_owned()),
        (&["TG.CHECK", "nope", "alice"], format!("ERR {REFUSAL}\n")),
    ]
}

fn redis_cli() -> Option<Client> {
    let client = Client::redis_cli()?;
    say(printed(&client.run(&["--version"], "")).trim());
    Some(client)
}

#[test]
fn redis_cli_for_one_command() {
    let Some(client) = redis_cli() else { return };
    for (options, protocol) in [(&[][..], 2), (&["-3"], 3), (&["-n", "0"], 2)] {
        let server = server();
        let port = port(&server);
        let run =
            |words: &[&str]| printed(&client.run(&[&["-p", &port], options, words].concat(), ""));
        for (words, expected) in conversation() {
            assert_eq!(run(words), format!("{expected}\n"), "{options:?} {words:?}");
        }
        let session = run(&["CLIENT", "INFO"]);
        assert!(session.contains(&format!("resp={protocol}")), "{options:?}: {session}");
    }
}

/// It asks for `COMMAND DOCS` first, and has its help from there.
#[test]
fn redis_cli_for_many_commands() {
    let Some(client) = redis_cli() else { return };
    for options in [&[][..], &["-3"], &["-n", "0"]] {
        let server = server();
        let conversation = conversation();
        let mut input: String =
            conversation.iter().map(|(words, _)| words.join(" ") + "\n").collect();
        input.push_str("HELP TG.CHECK\nQUIT\n");
        let port = port(&server);
        let args = [&["-p", &port], options].concat();
        let said = printed(&client.run(&args, &input));
        let expected: String =
            conversation.into_iter().map(|(_, expected)| expected + "\n").collect();
        let help = said.strip_prefix(&expected).unwrap_or_else(|| panic!("{options:?}: {said}"));
        assert!(help.contains("TG.CHECK") && help.contains("summary"), "{options:?}: {help}");
    }
}

#[test]
fn redis_cli_for_a_pipeline() {
    let Some(client) = redis_cli() else { return };
    let server = server();
    let args = ["-p", &port(&server)];
    let command =
        "*5\r\n$11\r\nCL.THROTTLE\r\n$8\r\npipeline\r\n$3\r\n119\r\n$1\r\n1\r\n$5\r\n86400\r\n";
    let said = printed(&client.run(&[&args[..], &["--pipe"]].concat(), &command.repeat(100)));
    assert!(said.contains("errors: 0, replies: 100"), "{said}");
    let peek = ["CL.THROTTLE", "pipeline", "119", "1", "86400", "0"];
    let said = printed(&client.run(&[&args[..], &peek].concat(), ""));
    assert!(said.starts_with("0\n120\n20\n-1\n"), "{said}");
}

#[test]
fn redis_benchmark() {
    let Some(client) = Client::redis_benchmark() else { return };
    say(printed(&client.run(&["--version"], "")).trim());
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
        let said = printed(&run(words));
        assert!(tests.iter().all(|test| said.contains(test)), "{words:?}: {said}");
        assert_eq!(said.matches("requests per second").count(), tests.len(), "{words:?}: {said}");
    }
    // It ends with the first error.
    let output = run(&["TG.CHECK", "nope", "all"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains(REFUSAL), "{said}");
    // Each was counted, and counted once.
    let Some(client) = Client::redis_cli() else { return };
    let said = printed(&client.run(&["-p", &port, "TG.PEEK", "bench", "all"], ""));
    assert!(said.starts_with(&format!("1\n{BENCH}\n{}\n", BENCH - 2_000)), "{said}");
}
