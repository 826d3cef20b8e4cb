//! `tollgate serve` in a process of its own.

#![allow(dead_code, reason = "each test uses its part")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;

/// Only whoever would wait for ever comes to know it: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server, killed when dropped.
pub(crate) struct Serving {
    pub(crate) process: Child,
    /// What it said when it had started.
    pub(crate) said: String,
}

impl Serving {
    /// On free ports, with these flags.
    pub(crate) fn start(args: &[&str]) -> Serving {
        Serving::run(Command::new(cargo_bin!("tollgate")), args)
    }

    /// The same, by a command that runs the program.
    pub(crate) fn run(mut command: Command, args: &[&str]) -> Serving {
        command.args(["serve", "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0"]).args(args);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        // This line to try stands last.
        while !said.contains("CL.THROTTLE") {
            assert!(lines.read_line(&mut said).unwrap() > 0, "it ended: {said}");
        }
        Serving { process, said }
    }

    /// The address that stands after this word.
    fn address(&self, protocol: &str) -> &str {
        let line = self.said.lines().find_map(|line| line.trim().strip_prefix(protocol));
        line.unwrap().trim()
    }

    pub(crate) fn http(&self) -> &str {
        self.address("HTTP")
    }

    pub(crate) fn resp(&self) -> TcpStream {
        connect(self.address("Redis protocol"))
    }

    /// The body of an answer over HTTP.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = connect(self.http());
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
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
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}
