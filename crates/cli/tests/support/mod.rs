//! `tollgate serve` in a process of its own.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;

/// How long to wait for a response. It only ends a hang: the machine may be busy.
const READ_TIMEOUT: Duration = Duration::from_secs(120);

/// A server, killed when dropped.
pub(crate) struct Serving {
    pub(crate) process: Child,
    /// What it printed at start.
    pub(crate) banner: String,
}

impl Serving {
    /// Starts a server on free ports, with these flags.
    pub(crate) fn start(args: &[&str]) -> Serving {
        Serving::run(Command::new(cargo_bin!("tollgate")), args)
    }

    /// Starts a server whose log goes to a pipe; [`log`](Serving::log) returns it.
    pub(crate) fn with_log(args: &[&str]) -> Serving {
        let mut command = Command::new(cargo_bin!("tollgate"));
        command.args(["--color", "never"]).stderr(Stdio::piped());
        Serving::run(command, args)
    }

    /// Stops the server and returns its log.
    pub(crate) fn log(mut self) -> String {
        self.signal("TERM");
        let mut log = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        log
    }

    /// Starts a server by a command that runs the program.
    pub(crate) fn run(mut command: Command, args: &[&str]) -> Serving {
        command.args(["serve", "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0"]).args(args);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut banner = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        // This example is the last line.
        while !banner.contains("CL.THROTTLE") {
            assert!(lines.read_line(&mut banner).unwrap() > 0, "the server ended: {banner}");
        }
        Serving { process, banner }
    }

    /// Returns the address of a protocol in the banner.
    fn address(&self, protocol: &str) -> &str {
        let line = self.banner.lines().find_map(|line| line.trim().strip_prefix(protocol));
        line.unwrap().trim()
    }

    pub(crate) fn http(&self) -> &str {
        self.address("HTTP")
    }

    pub(crate) fn resp_address(&self) -> &str {
        self.address("Redis protocol")
    }

    pub(crate) fn resp(&self) -> TcpStream {
        connect(self.resp_address())
    }

    /// Returns the body of an HTTP response.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = connect(self.http());
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// Returns the status and the body of an HTTP response.
    pub(crate) fn request(&self, request: &str) -> (u16, String) {
        let mut stream = connect(self.http());
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let status = response.get(9..12).and_then(|status| status.parse().ok()).unwrap();
        (status, response.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    /// Returns the status and the body of a page.
    pub(crate) fn page(&self, path: &str) -> (u16, String) {
        self.request(&format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
    }

    /// Checks a key.
    pub(crate) fn check(&self, policy: &str, key: &str) -> (u16, serde_json::Value) {
        self.operate("check", policy, key)
    }

    /// Performs an operation on a key.
    pub(crate) fn operate(&self, act: &str, policy: &str, key: &str) -> (u16, serde_json::Value) {
        let body = format!("{{\"policy\":\"{policy}\",\"key\":\"{key}\"}}");
        let length = body.len();
        let (status, body) = self.request(&format!(
            "POST /v1/{act} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        ));
        (status, serde_json::from_str(&body).unwrap())
    }

    /// Returns a sample of the metrics.
    pub(crate) fn sample(&self, name: &str) -> u64 {
        let page = self.get("/metrics");
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no {name}: {page}")).parse().unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
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

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
    stream
}
