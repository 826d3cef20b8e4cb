//! `tollgate serve` as people run it: what it says, what it answers, how it ends.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;
use support::Serving;
use tollgate_fixtures::Server;

/// Sends a line, and reads as many bytes as are expected.
#[track_caller]
fn ask(stream: &mut TcpStream, line: &str, expected: &str) {
    stream.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    let mut answer = vec![0; expected.len()];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(String::from_utf8_lossy(&answer), expected, "{line}");
}

#[test]
fn it_says_what_to_try_and_answers_it() {
    let serving = Serving::start(&["--limit", "gcra 1/min burst 5"]);
    assert!(serving.said.contains("state in memory"), "{}", serving.said);
    let mut stream = serving.resp();
    ask(&mut stream, "CL.THROTTLE user-42 15 30 60", "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n");
    ask(&mut stream, "TG.CHECK default user-42", "*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:60000\r\n");
    let peek = serving.get("/check?key=user-42&peek=1");
    assert_eq!(peek, "", "a proxy is told by the status");
    let url = format!("http://{}/v1/check", serving.http());
    assert!(serving.said.contains(&url), "{}", serving.said);
}

/// Whatever is suggested works.
#[test]
fn what_is_to_be_tried_names_whom_it_counts() {
    let args =
        ["--limit", "gcra 1/min burst 5", "--limit", "gcra 1/min per ip", "--store", "memory"];
    let serving = Serving::start(&args);
    let said = &serving.said;
    assert!(said.contains("\"key\": \"user-42\", \"keys\": {\"ip\": \"42\"}"), "{said}");
    assert!(said.contains("TG.CHECK default user-42 ip=42"), "{said}");
    ask(&mut serving.resp(), "TG.CHECK default user-42 ip=42", "*5\r\n:1\r\n:1\r\n:0\r\n");
}

/// Nobody is named where nobody is counted.
#[test]
fn what_is_to_be_tried_is_right_where_all_count_together() {
    let serving = Serving::start(&["--limit", "gcra 1/min burst 5 per all"]);
    let said = &serving.said;
    assert!(said.contains("'{\"policy\": \"default\"}'"), "{said}");
    assert!(said.contains("TG.CHECK default\n"), "{said}");
    ask(&mut serving.resp(), "TG.CHECK default", "*5\r\n:1\r\n:5\r\n:4\r\n");
}

/// Without a policy of one's own there is one to begin with.
#[test]
fn it_starts_with_nothing_said() {
    let serving = Serving::start(&[]);
    assert!(serving.said.contains("gcra 10/s burst 20"), "{}", serving.said);
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
fn a_running_server_can_be_asked() {
    let serving = Serving::start(&["--limit", "fixed-window 2/year", "--limit", "gcra 1/h per ip"]);
    let table = [
        (&["default", "a"][..], 2, "", "missing key \"ip\""),
        (&["default", "ip=1"], 2, "", "the nameless key"),
        (&["default", "a", "b"], 2, "", "given twice"),
        (&["default", "ip=1", "ip=2"], 2, "", "given twice"),
        (&["default", "a=b", "--key", "x=y"], 2, "", "missing key \"ip\""),
        (&["default", "a", "ip=1"], 0, "allowed: 0 of 1 left (gcra 1/h per ip)", ""),
        (&["default", "ip=2", "--key", "x=y"], 0, "allowed: 0 of 1 left", ""),
        (&["nope", "a"], 2, "", "unknown policy"),
    ];
    for (args, code, out, error) in table {
        let ran = check(&serving, args);
        let said = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert_eq!(ran.status.code(), Some(code), "{args:?}: {said:?}");
        assert!(said.0.contains(out) && said.1.contains(error), "{args:?}: {said:?}");
    }
    let serving = Serving::start(&["--limit", "fixed-window 2/year"]);
    let table = [
        (&["default", "a", "--peek"][..], 0, "allowed: 2 of 2 left (fixed-window 2/year)\n"),
        (&["default", "a", "--cost", "2"], 0, "allowed: 0 of 2 left (fixed-window 2/year)\n"),
        (&["default", "a"], 1, "denied: 0 of 2 left, again in "),
        (&["default", "b", "--cost", "3"], 1, "denied: 2 of 2 left, never fits"),
        (&["default", "a", "--json"], 1, "{\"allowed\":false,\"limit\":2,\"remaining\":0,"),
    ];
    for (args, code, out) in table {
        let ran = check(&serving, args);
        let said = String::from_utf8_lossy(&ran.stdout);
        assert_eq!(ran.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.starts_with(out), "{args:?}: {said}");
    }
    drop(serving);
    let mut command = Command::new(cargo_bin!("tollgate"));
    let nobody = command.args(["check", "--server", "http://127.0.0.1:1", "default", "a"]).output();
    let nobody = nobody.unwrap();
    assert_eq!(nobody.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("Start one: tollgate serve"));
}

#[test]
fn it_finishes_and_leaves_when_told() {
    for signal in ["INT", "TERM"] {
        let mut serving = Serving::start(&[]);
        let mut stream = serving.resp();
        ask(&mut stream, "PING", "+PONG\r\n");
        serving.signal(signal);
        assert!(serving.process.wait().unwrap().success(), "SIG{signal}");
        assert_eq!(stream.read(&mut [0; 8]).unwrap_or(0), 0, "the connection is closed");
    }
}

#[test]
fn two_servers_on_one_redis_count_together() {
    let Some(redis) = Server::redis() else { return };
    let url = redis.url();
    let args = ["--store", url.as_str(), "--limit", "fixed-window 3/year"];
    let (one, other) = (Serving::start(&args), Serving::start(&args));
    let mut streams = [one.resp(), other.resp()];
    for (turn, left) in [(0, 2), (1, 1), (0, 0)] {
        let start = format!("*5\r\n:1\r\n:3\r\n:{left}\r\n:");
        ask(&mut streams[turn], "TG.CHECK default user-42", &start);
        streams[turn] = if turn == 0 { one.resp() } else { other.resp() };
    }
    ask(&mut streams[1], "TG.CHECK default user-42", "*5\r\n:0\r\n:3\r\n:0\r\n:");
    // A store that is gone is an error of its own kind, not an answer.
    drop(redis);
    ask(&mut other.resp(), "TG.CHECK default user-42", "-TGDOWN store unavailable: ");
    // Nobody has to be asked where nothing is counted, and so nobody has answered.
    ask(&mut other.resp(), "TG.CHECK default user-42 FACTOR 0", "*5\r\n:1\r\n");
    let page = other.get("/metrics");
    assert!(page.contains("tollgate_store_up 0\n"), "{page}");
}

/// Redis takes fewer limits in one call than memory does, those of a candidate as well.
#[test]
fn too_many_limits_for_redis_are_told() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("tollgate.toml");
    let many = ["\"gcra 1/s\""; 17].join(", ");
    for member in ["limits", "candidate"] {
        let one = if member == "limits" { "" } else { "limits = [\"gcra 1/s\"]\n" };
        std::fs::write(&path, format!("[policy.a]\n{one}{member} = [{many}]\n")).unwrap();
        let mut command = Command::new(cargo_bin!("tollgate"));
        command.args(["serve", "--store", "redis://127.0.0.1:1", "--config"]).arg(&path);
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("more than 16 limits"), "{error}");
    }
}

/// Whoever wants no colours gets none in the log, and whoever wants them does.
#[test]
fn the_log_has_the_colours_that_were_asked_for() {
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
fn what_cannot_be_served_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let table = [
        (vec!["--resp", "0.0.0.0:0"], "say --insecure"),
        (vec!["--http", "0.0.0.0:0"], "say --insecure"),
        (vec!["--resp", "off", "--http", "off"], "nothing to serve"),
        (vec!["--http", "8080"], "expected an address with a port"),
        (vec!["--config", "/no/such/file"], "/no/such"),
        (vec!["--resp", "6380"], "expected an address with a port"),
        (vec!["--resp", &taken], "choose others"),
        (vec!["--limit", "gcra 1/fortnight"], "fortnight"),
        (vec!["--store", "redis://127.0.0.1:1"], "the store cannot be reached"),
        (vec!["--store", "http://127.0.0.1"], "or memory:"),
        (vec!["--threads", "0"], "0"),
        (vec!["--store", "redis://127.0.0.1:1", "--limit", "gcra 1/s"], "cannot be reached"),
    ];
    for (args, why) in table {
        let mut command = Command::new(cargo_bin!("tollgate"));
        let output = command.arg("serve").args(&args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(why), "{args:?}: {error}");
    }
}
