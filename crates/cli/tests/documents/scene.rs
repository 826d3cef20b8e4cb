//! Where the commands of one document run: a folder, servers, and the tools they need.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use tempfile::TempDir;
use tollgate_fixtures::Server;

use crate::support::Serving;

/// The policies of the server that documents ask when they have not started one.
const CONFIG: &str = r#"
[policy.default]
limits = ["gcra 10/s burst 20"]
[policy.login]
limits = ["gcra 5/min per ip", "sliding-counters 20/h resolution 10m per user"]
"#;

/// Addresses as the documents have them.
const HTTP: &str = "127.0.0.1:8080";
const RESP: &str = "127.0.0.1:6380";
const REDIS: &str = "127.0.0.1:6379";

pub(crate) struct Scene {
    folder: TempDir,
    redis: Server,
    server: Option<Serving>,
}

impl Scene {
    /// Returns `None` if a tool is missing, which the fixtures report.
    pub(crate) fn new(root: &Path) -> Option<Scene> {
        let redis = Server::redis()?;
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        // A link would show the path of the binary in messages of the tool.
        fs::hard_link(cargo_bin!("tollgate"), bin.join("tollgate"))
            .or_else(|_| fs::copy(cargo_bin!("tollgate"), bin.join("tollgate")).map(drop))
            .unwrap();
        let examples = folder.path().join("examples");
        fs::create_dir(&examples).unwrap();
        for entry in fs::read_dir(root.join("examples")).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, examples.join(path.file_name().unwrap())).unwrap();
            }
        }
        Some(Scene { folder, redis, server: None })
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        assert!(!file.contains(".."), "{file}");
        fs::write(self.folder.path().join(file), text).unwrap();
    }

    /// Runs the commands of one block, and returns what they print.
    pub(crate) fn run(&mut self, block: &str) -> Result<String, String> {
        let block = block.replace("cargo run --release -- ", "tollgate ");
        let mut output = String::new();
        let mut script = String::new();
        for line in block.lines() {
            if let Some(args) = line.strip_prefix("tollgate serve") {
                output.push_str(&self.run_script(&script)?);
                script.clear();
                output.push_str(&self.serve(args.trim()));
            } else {
                script.push_str(line);
                script.push('\n');
            }
        }
        output.push_str(&self.run_script(&script)?);
        Ok(output)
    }

    /// Runs the commands of a block of which the last is to fail, and returns what they print, also as errors.
    pub(crate) fn run_failing(&mut self, block: &str) -> Result<String, String> {
        let (script, ran) = self.run_to_end(block);
        let output =
            [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if ran.status.success() {
            return Err(format!("{script}was to fail, and printed:\n{}", output.concat()));
        }
        Ok(output.concat())
    }

    fn run_script(&mut self, script: &str) -> Result<String, String> {
        if script.trim().is_empty() {
            return Ok(String::new());
        }
        let (script, ran) = self.run_to_end(script);
        let output = String::from_utf8_lossy(&ran.stdout).into_owned();
        if ran.status.success() {
            return Ok(output);
        }
        let errors = String::from_utf8_lossy(&ran.stderr);
        Err(format!("{script}ended with {}\n{output}{errors}", ran.status))
    }

    /// Runs a script to its end. Returns it as it ran, and what became of it.
    fn run_to_end(&mut self, script: &str) -> (String, Output) {
        let asks_server = [HTTP, "tollgate check", "redis-cli"];
        if self.server.is_none() && asks_server.iter().any(|word| script.contains(word)) {
            self.write("documented.toml", CONFIG);
            self.serve("--config documented.toml");
        }
        let script = format!("set -euo pipefail\n{}", self.with_ports(script));
        let mut shell = self.command("bash");
        let ran = shell.args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
        (script, ran)
    }

    /// Replaces the addresses of the documents by those of the servers of this test.
    fn with_ports(&self, script: &str) -> String {
        let redis = format!("127.0.0.1:{}", self.redis.port());
        let script = script.replace(REDIS, &redis);
        let Some(server) = &self.server else { return script };
        script
            .replace(HTTP, server.http())
            .replace(&format!("-p {}", port(RESP)), &format!("-p {}", port(server.resp_address())))
            .replace(
                "tollgate check ",
                &format!("tollgate check --server http://{} ", server.http()),
            )
    }

    /// Starts a server in the place of the last one, and returns what it prints, with the addresses of the
    /// documents.
    fn serve(&mut self, args: &str) -> String {
        self.server = None;
        let args = self.with_ports(args);
        let mut shell = self.command("bash");
        // What follows `bash` are the arguments of the script.
        shell.args(["-c", &format!("exec tollgate \"$@\" {args}"), "bash"]);
        let server = Serving::run(shell, &[]);
        let printed = server
            .banner
            .replace(server.http(), HTTP)
            .replace(server.resp_address(), RESP)
            .replace(&format!("-p {}", port(server.resp_address())), &format!("-p {}", port(RESP)));
        self.server = Some(server);
        printed
    }

    fn command(&self, program: &str) -> Command {
        let path = env::var_os("PATH").unwrap_or_default();
        let bin: PathBuf = self.folder.path().join("bin");
        let paths = std::iter::once(bin).chain(env::split_paths(&path));
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env("PATH", env::join_paths(paths).unwrap())
            .env("HOME", self.folder.path())
            .env("NO_COLOR", "1");
        command
    }
}

fn port(address: &str) -> &str {
    address.rsplit(':').next().unwrap_or_default()
}
