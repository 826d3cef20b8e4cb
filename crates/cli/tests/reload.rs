//! Reloads of the config under load: no decision is wrong, and no count is lost.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use support::Serving;
use tempfile::TempDir;

/// Number of reloads, every other one with an error in the config.
const RELOADS: u64 = 1_000;
/// The two limits of the config, in turn.
const LIMITS: [u64; 2] = [1_000_000_000, 2_000_000_000];

fn config(limit: u64) -> String {
    format!("[policy.api]\nlimits = [\"fixed-window {limit}/year\"]\n")
}

struct File {
    path: PathBuf,
    _dir: TempDir,
}

impl File {
    fn new(text: &str) -> File {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("tollgate.toml");
        fs::write(&path, text).unwrap();
        File { path, _dir: dir }
    }

    fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

/// Replaces a file atomically.
fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

/// Returns the number of reloads with this outcome.
fn reloads(serving: &Serving, outcome: &str) -> u64 {
    let page = serving.get("/metrics");
    let name = format!("tollgate_reloads_total{{outcome=\"{outcome}\"}} ");
    page.lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
}

fn wait_for_reloads(serving: &Serving, outcome: &str, count: u64) {
    while reloads(serving, outcome) < count {
        thread::yield_now();
    }
}

/// Checks one key in a loop; each check must be counted exactly once. Returns the number of checks.
fn hammer(mut check: impl FnMut() -> (u64, u64), done: &AtomicBool) -> u64 {
    let mut used = 0;
    while !done.load(Ordering::Relaxed) {
        let (limit, remaining) = check();
        assert!(LIMITS.contains(&limit), "{limit}");
        used += 1;
        assert_eq!(limit - remaining, used, "of {limit}");
    }
    used
}

fn over_resp(stream: TcpStream, key: &str) -> impl FnMut() -> (u64, u64) {
    let mut stream = BufReader::new(stream);
    let command = format!("TG.CHECK api {key}\r\n");
    move || {
        stream.get_mut().write_all(command.as_bytes()).unwrap();
        let mut lines = (0..6).map(|_| {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            line.trim_end().trim_start_matches(':').to_owned()
        });
        let start: Vec<String> = lines.by_ref().take(4).collect();
        assert_eq!(lines.count(), 2);
        assert_eq!((start[0].as_str(), start[1].as_str()), ("*5", "1"));
        (start[2].parse().unwrap(), start[3].parse().unwrap())
    }
}

fn over_http(stream: TcpStream, key: &str) -> impl FnMut() -> (u64, u64) {
    let mut stream = BufReader::new(stream);
    let body = format!("{{\"policy\":\"api\",\"key\":\"{key}\"}}");
    let (length, kind) = (body.len(), "content-type: application/json");
    let head = format!("POST /v1/check HTTP/1.1\r\nhost: x\r\n{kind}\r\ncontent-length: {length}");
    let request = format!("{head}\r\n\r\n{body}");
    move || {
        stream.get_mut().write_all(request.as_bytes()).unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            match line.trim_end() {
                "" => break,
                line => {
                    let value = line.strip_prefix("content-length: ");
                    length = value.map_or(length, |value| value.parse().unwrap());
                }
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        let decision: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(decision["allowed"], true, "{decision}");
        (decision["limit"].as_u64().unwrap(), decision["remaining"].as_u64().unwrap())
    }
}

#[test]
fn a_thousand_reloads_under_load_lose_no_counts() {
    let file = File::new(&config(LIMITS[0]));
    let serving = Serving::start(&["--config", file.path(), "--log-level", "off"]);
    let http = || TcpStream::connect(serving.http()).unwrap();
    let done = &AtomicBool::new(false);
    thread::scope(|scope| {
        let hammers = [
            scope.spawn(|| hammer(over_resp(serving.resp(), "a"), done)),
            scope.spawn(|| hammer(over_http(http(), "b"), done)),
        ];
        for turn in 0..RELOADS / 2 {
            let limit = LIMITS[usize::from(turn % 2 == 0)];
            replace(&file.path, &config(limit));
            serving.signal("HUP");
            wait_for_reloads(&serving, "success", turn + 1);
            replace(&file.path, &config(limit).replace("fixed", "fixd"));
            serving.signal("HUP");
            wait_for_reloads(&serving, "failure", turn + 1);
        }
        done.store(true, Ordering::Relaxed);
        for hammer in hammers {
            assert!(hammer.join().unwrap() > 0);
        }
    });
}

/// Writing the file is enough; no signal is needed.
#[test]
fn a_change_is_seen_without_a_signal() {
    let file = File::new(&config(LIMITS[0]));
    let serving = Serving::start(&["--config", file.path(), "--log-level", "off"]);
    for (turn, text) in [config(LIMITS[1]), config(7), config(LIMITS[0])].iter().enumerate() {
        match turn {
            // Written in place, as some editors do, or replaced atomically.
            0 => fs::write(&file.path, text).unwrap(),
            _ => replace(&file.path, text),
        }
        let limit = text.split_whitespace().nth(4).unwrap().split('/').next().unwrap();
        while !serving.get("/v1/policies").contains(&format!("fixed-window {limit}/")) {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The log says which state does not go on.
#[test]
fn another_generation_and_another_rule_are_logged() {
    let file = File::new(&config(7));
    let serving = Serving::with_log(&["--config", file.path()]);
    assert_eq!(serving.check("api", "a").1["remaining"], 6);
    let other_rule = "[policy.api]\nlimits = [\"gcra 1/h burst 7\"]\n".to_owned();
    let turns = [
        config(9),
        format!("{}generation = 2\n", config(9)),
        format!("{other_rule}generation = 2\n"),
    ];
    for (turn, text) in turns.iter().enumerate() {
        replace(&file.path, text);
        wait_for_reloads(&serving, "success", turn as u64 + 1);
    }
    assert_eq!(serving.check("api", "a").1["remaining"], 6);
    let log = serving.log();
    let lost: Vec<&str> = log.lines().filter(|line| line.contains(" policy api")).collect();
    let [generation, rule] = lost.as_slice() else { panic!("{log}") };
    let expected = "policy api: generation 1 -> 2, its previous state is ignored";
    assert!(generation.contains(expected), "{log}");
    let expected =
        "policy api: gcra 1/h burst 7 uses another rule than before, so its state starts empty";
    assert!(rule.contains(expected), "{log}");
}

/// An editor may empty a file before it writes it: that must not remove all policies.
#[test]
fn an_empty_file_changes_nothing() {
    let file = File::new(&config(7));
    // The policy of `--limit` does not count as one of the file.
    let limit = ["--limit", "gcra 10/s"];
    let args = ["--config", file.path(), "--log-level", "off"];
    let serving = Serving::start(&[&args[..], &limit].concat());
    fs::write(&file.path, "").unwrap();
    wait_for_reloads(&serving, "failure", 1);
    assert!(serving.get("/v1/policies").contains("fixed-window 7/"));
    fs::remove_file(&file.path).unwrap();
    wait_for_reloads(&serving, "failure", 2);
    replace(&file.path, &config(8));
    wait_for_reloads(&serving, "success", 1);
    assert!(serving.get("/v1/policies").contains("fixed-window 8/"));
}
