//! `tollgate serve` as people run it: what it prints, its responses, and how it stops.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;
use support::Serving;
use tollgate_fixtures::Server;

/// Sends a line and compares the reply with what is expected.
#[track_caller]
fn send(stream: &mut TcpStream, line: &str, expected: &str) {
    stream.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    let mut reply = vec![0; expected.len()];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(String::from_utf8_lossy(&reply), expected, "{line}");
}

#[test]
fn printed_examples_work() {
    let serving = Serving::start(&["--limit", "gcra 1/min burst 5"]);
    assert!(serving.banner.contains("state in memory"), "{}", serving.banner);
    let mut stream = serving.resp();
    send(&mut stream, "CL.THROTTLE user-42 15 30 60", "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n");
    send(&mut stream, "TG.CHECK default user-42", "*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:60000\r\n");
    let peek = serving.get("/check?key=user-42&peek=1");
    assert_eq!(peek, "", "a proxy reads only the status");
    let url = format!("http://{}/v1/check", serving.http());
    assert!(serving.banner.contains(&url), "{}", serving.banner);
}

/// The printed examples have a key for each subject.
#[test]
fn printed_examples_name_the_subjects() {
    let args =
        ["--limit", "gcra 1/min burst 5", "--limit", "gcra 1/min per ip", "--store", "memory"];
    let serving = Serving::start(&args);
    let banner = &serving.banner;
    assert!(banner.contains("\"key\": \"user-42\", \"keys\": {\"ip\": \"42\"}"), "{banner}");
    assert!(banner.contains("TG.CHECK default user-42 ip=42"), "{banner}");
    send(&mut serving.resp(), "TG.CHECK default user-42 ip=42", "*5\r\n:1\r\n:1\r\n:0\r\n");
}

/// `per all` needs no key.
#[test]
fn printed_examples_have_no_key_for_per_all() {
    let serving = Serving::start(&["--limit", "gcra 1/min burst 5 per all"]);
    let banner = &serving.banner;
    assert!(banner.contains("'{\"policy\": \"default\"}'"), "{banner}");
    assert!(banner.contains("TG.CHECK default\n"), "{banner}");
    send(&mut serving.resp(), "TG.CHECK default", "*5\r\n:1\r\n:5\r\n:4\r\n");
}

/// Without a config and `--limit` there is a default policy.
#[test]
fn it_starts_without_arguments() {
    let serving = Serving::start(&[]);
    assert!(serving.banner.contains("gcra 10/s burst 20"), "{}", serving.banner);
    let policies = serving.get("/v1/policies");
    assert!(policies.contains("gcra 10/s burst 20"), "{policies}");
}

/// Runs `tollgate check` against a server.
fn check(serving: &Serving, args: &[&str]) -> Output {
    let url = format!("http://{}/", serving.http());
    let mut command = Command::new(cargo_bin!("tollgate"));
    command.args(["check", "--server", &url]).args(args).output().unwrap()
}

#[test]
fn check_prints_the_decision_of_a_running_server() {
    let serving = Serving::start(&["--limit", "fixed-window 2/year", "--limit", "gcra 1/h per ip"]);
    let table = [
        (&["default", "a"][..], 2, "", "missing key \"ip\""),
        (&["default", "ip=1"], 2, "", "the nameless key"),
        (&["default", "a", "b"], 2, "", "given twice"),
        (&["default", "ip=1", "ip=2"], 2, "", "given twice"),
        (&["default", "a=b", "--key", "x=y"], 2, "", "missing key \"ip\""),
        (&["default", "a", "ip=1"], 0, "allowed: 0 of 1 remaining (gcra 1/h per ip)", ""),
        (&["default", "ip=2", "--key", "x=y"], 0, "allowed: 0 of 1 remaining", ""),
        (&["nope", "a"], 2, "", "unknown policy"),
    ];
    for (args, code, out, error) in table {
        let ran = check(&serving, args);
        let printed = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert_eq!(ran.status.code(), Some(code), "{args:?}: {printed:?}");
        assert!(printed.0.contains(out) && printed.1.contains(error), "{args:?}: {printed:?}");
    }
    let serving = Serving::start(&["--limit", "fixed-window 2/year"]);
    let table = [
        (&["default", "a", "--peek"][..], 0, "allowed: 2 of 2 remaining (fixed-window 2/year)\n"),
        (&["default", "a", "--cost", "2"], 0, "allowed: 0 of 2 remaining (fixed-window 2/year)\n"),
        (&["default", "a"], 1, "denied: 0 of 2 remaining, retry after "),
        (&["default", "b", "--cost", "3"], 1, "denied: 2 of 2 remaining, the cost can never fit"),
        (&["default", "a", "--json"], 1, "{\"allowed\":false,\"limit\":2,\"remaining\":0,"),
    ];
    for (args, code, out) in table {
        let ran = check(&serving, args);
        let printed = String::from_utf8_lossy(&ran.stdout);
        assert_eq!(ran.status.code(), Some(code), "{args:?}: {printed}");
        assert!(printed.starts_with(out), "{args:?}: {printed}");
    }
    drop(serving);
    let mut command = Command::new(cargo_bin!("tollgate"));
    let unreachable =
        command.args(["check", "--server", "http://127.0.0.1:1", "default", "a"]).output();
    let unreachable = unreachable.unwrap();
    assert_eq!(unreachable.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unreachable.stderr).contains("Start it with: tollgate serve"));
}

#[test]
fn check_takes_costs_of_units() {
    let lines = ["--limit", "fixed-window 9/year", "--limit", "fixed-window 900/year of tokens"];
    let serving = Serving::start(&lines);
    let table = [
        (&["default", "a", "--cost", "tokens=850"][..], 0, "allowed: 8 of 9 remaining", ""),
        (&["default", "a", "--cost", "0", "--cost", "tokens=45"], 0, "allowed: 5 of 900", ""),
        (&["default", "a", "--cost", "tokens=6"], 1, "denied: 5 of 900 remaining", ""),
        (&["default", "a", "--cost", "bytes=6"], 2, "", "no limit of the policy has this unit"),
        (&["default", "a", "--cost", "2", "--cost", "1"], 2, "", "1: the cost is given twice"),
        (
            &["default", "a", "--cost", "tokens=1", "--cost", "tokens=2"],
            2,
            "",
            "tokens=2: the cost is given twice",
        ),
        (&["default", "a", "--cost", "tokens="], 2, "", "expected a whole number, or a unit with"),
        (&["default", "a", "--cost", "-1"], 2, "", "unexpected argument"),
    ];
    for (args, code, out, error) in table {
        let ran = check(&serving, args);
        let printed = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert_eq!(ran.status.code(), Some(code), "{args:?}: {printed:?}");
        assert!(printed.0.contains(out) && printed.1.contains(error), "{args:?}: {printed:?}");
    }
}

#[test]
fn it_stops_on_sigint_and_sigterm() {
    for signal in ["INT", "TERM"] {
        let mut serving = Serving::start(&[]);
        let mut stream = serving.resp();
        send(&mut stream, "PING", "+PONG\r\n");
        serving.signal(signal);
        assert!(serving.process.wait().unwrap().success(), "SIG{signal}");
        assert_eq!(stream.read(&mut [0; 8]).unwrap_or(0), 0, "the connection is closed");
    }
}

#[test]
fn two_servers_on_one_redis_count_together() {
    let Some(redis) = Server::redis() else { return };
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("tollgate.toml");
    // A long timeout, so that a busy machine is not taken for an outage.
    let config = "[store]\ntimeout = \"10s\"\n[policy.default]\nlimits = [\"fixed-window 3/year\"]\n\
                  on_failure = \"deny\"\n";
    std::fs::write(&path, config).unwrap();
    let url = redis.url();
    let args = ["--store", url.as_str(), "--config", path.to_str().unwrap()];
    let (one, other) = (Serving::start(&args), Serving::start(&args));
    let mut streams = [one.resp(), other.resp()];
    for (turn, left) in [(0, 2), (1, 1), (0, 0)] {
        let start = format!("*5\r\n:1\r\n:3\r\n:{left}\r\n:");
        send(&mut streams[turn], "TG.CHECK default user-42", &start);
        streams[turn] = if turn == 0 { one.resp() } else { other.resp() };
    }
    send(&mut streams[1], "TG.CHECK default user-42", "*5\r\n:0\r\n:3\r\n:0\r\n:");
    // An unavailable store is an error, as the policy says. (A key that is denied already stays denied.)
    drop(redis);
    send(&mut other.resp(), "TG.CHECK default user-43", "-TGDOWN store unavailable: ");
    // With factor 0 nothing is counted, so the store is not called and stays down in the metrics.
    send(&mut other.resp(), "TG.CHECK default user-42 FACTOR 0", "*5\r\n:1\r\n");
    let page = other.get("/metrics");
    assert!(page.contains("tollgate_store_up 0\n"), "{page}");
}

/// Redis allows fewer limits in one policy or candidate than memory does.
#[test]
fn too_many_limits_for_redis_are_an_error() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("tollgate.toml");
    let many = ["\"gcra 1/s\""; 17].join(", ");
    for member in ["limits", "candidate"] {
        let limits = if member == "limits" { "" } else { "limits = [\"gcra 1/s\"]\n" };
        std::fs::write(&path, format!("[policy.a]\n{limits}{member} = [{many}]\n")).unwrap();
        let mut command = Command::new(cargo_bin!("tollgate"));
        command.args(["serve", "--store", "redis://127.0.0.1:1", "--config"]).arg(&path);
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("more than 16 limits"), "{error}");
    }
}

#[test]
fn the_log_has_colours_as_color_says() {
    for (color, has) in [("always", true), ("never", false), ("auto", false)] {
        let mut command = Command::new(cargo_bin!("tollgate"));
        command.args(["--color", color]).stderr(std::process::Stdio::piped());
        let mut serving = Serving::run(command, &[]);
        serving.signal("TERM");
        let mut log = String::new();
        serving.process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(log.contains("stopping"), "{log}");
        assert_eq!(log.contains("\x1b["), has, "{color}: {log:?}");
    }
}

#[test]
fn bad_settings_are_errors() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let table = [
        (vec!["--resp", "0.0.0.0:0"], "pass --insecure"),
        (vec!["--http", "0.0.0.0:0"], "pass --insecure"),
        (vec!["--resp", "off", "--http", "off"], "nothing to serve"),
        (vec!["--http", "8080"], "expected an address with a port"),
        (vec!["--config", "/no/such/file"], "/no/such"),
        (vec!["--resp", "6380"], "expected an address with a port"),
        (vec!["--resp", &taken], "choose other addresses"),
        (vec!["--limit", "gcra 1/fortnight"], "fortnight"),
        (vec!["--store", "redis+sentinel://127.0.0.1:1"], "the name of the primary is missing"),
        (vec!["--store", "http://127.0.0.1"], "or memory:"),
        (vec!["--threads", "0"], "0"),
    ];
    for (args, message) in table {
        let mut command = Command::new(cargo_bin!("tollgate"));
        let output = command.arg("serve").args(&args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(message), "{args:?}: {error}");
    }
}
