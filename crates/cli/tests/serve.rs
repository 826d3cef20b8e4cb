//! `tollgate serve` as people run it: what it says, what it answers, how it ends.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use tollgate_fixtures::Server;

/// A server in a process of its own, killed when dropped.
struct Serving {
    process: Child,
    /// The port of the Redis protocol.
    port: u16,
    said: String,
}

impl Serving {
    fn start(args: &[&str]) -> Serving {
        let mut command = Command::new(cargo_bin!("tollgate"));
        command.args(["serve", "--resp", "127.0.0.1:0"]).args(args);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let (mut said, mut port) = (String::new(), None);
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        // The line to try stands last, and names the port.
        while port.is_none() {
            let start = said.len();
            assert!(lines.read_line(&mut said).unwrap() > 0, "it ended: {said}");
            let tried = said[start..].trim().strip_prefix("redis-cli -p ");
            port = tried.and_then(|rest| rest.split(' ').next()?.parse().ok());
        }
        Serving { process, port: port.unwrap(), said }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).unwrap()
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends a line, and reads as many bytes as are expected.
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
    let mut stream = serving.connect();
    ask(&mut stream, "CL.THROTTLE user-42 15 30 60", "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n");
    ask(&mut stream, "TG.CHECK default user-42", "*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:60000\r\n");
}

#[test]
fn it_finishes_and_leaves_when_told() {
    for signal in ["INT", "TERM"] {
        let mut serving = Serving::start(&[]);
        let mut stream = serving.connect();
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
    let mut streams = [one.connect(), other.connect()];
    for (turn, left) in [(0, 2), (1, 1), (0, 0)] {
        let start = format!("*5\r\n:1\r\n:3\r\n:{left}\r\n:");
        ask(&mut streams[turn], "TG.CHECK default user-42", &start);
        streams[turn] = if turn == 0 { one.connect() } else { other.connect() };
    }
    ask(&mut streams[1], "TG.CHECK default user-42", "*5\r\n:0\r\n:3\r\n:0\r\n:");
    // A store that is gone is an error of its own kind, not an answer.
    drop(redis);
    ask(&mut other.connect(), "TG.CHECK default user-42", "-TGDOWN the store is unavailable: ");
}

#[test]
fn what_cannot_be_served_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let table = [
        (vec!["--resp", "0.0.0.0:0"], "say --insecure"),
        (vec!["--resp", "off"], "nothing to serve"),
        (vec!["--resp", "6380"], "expected an address with a port"),
        (vec!["--resp", &taken], "choose another with --resp"),
        (vec!["--limit", "gcra 1/fortnight"], "fortnight"),
        (vec!["--store", "redis://127.0.0.1:1"], "the store cannot be reached"),
        (vec!["--store", "http://127.0.0.1"], "or memory:"),
        (vec!["--loops", "0"], "0"),
    ];
    for (args, why) in table {
        let mut command = Command::new(cargo_bin!("tollgate"));
        let output = command.arg("serve").args(&args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(why), "{args:?}: {error}");
    }
}
