//! Random traces through the binary agree with the reference model, to the microsecond.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tollgate_model::random::{Algorithm, System, compare};
use tollgate_model::{Answer, Operation, Step, TooMuch};

/// Number of operations for each algorithm; each key is a process of its own.
const OPERATIONS: u64 = 5_000;

/// `tollgate simulate`, one step at a time.
struct Tollgate {
    lines: Vec<String>,
    /// The limits as the binary prints them, to find the one that binds.
    printed: Vec<String>,
    /// The steps so far, to be repeated after a step that ended the process.
    steps: Vec<String>,
    running: Running,
}

struct Running {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    fn start(lines: &[String]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args(["simulate", "--json"]);
        for line in lines {
            command.args(["--limit", line]);
        }
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Running { child, stdin, stdout }
    }

    /// Returns the decision; `None` if the process ended with exit code 2.
    fn decide(&mut self, step: &str) -> Option<Value> {
        writeln!(self.stdin, "{step}").unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        if line.is_empty() {
            assert_eq!(self.child.wait().unwrap().code(), Some(2), "{step}");
            return None;
        }
        Some(serde_json::from_str(&line).unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Tollgate {
    fn new(lines: &[String]) -> Tollgate {
        let lines = with_units(lines);
        let printed = lines.iter().map(|line| line.parse::<tollgate_core::Limit>().unwrap());
        Tollgate {
            printed: printed.map(|limit| limit.to_string()).collect(),
            steps: Vec::new(),
            running: Running::start(&lines),
            lines,
        }
    }

    fn restart(&mut self) {
        self.running = Running::start(&self.lines);
        for step in &self.steps {
            self.running.decide(step).unwrap();
        }
    }
}

/// Gives each limit but the first a unit of its own, so that each can take another cost.
fn with_units(lines: &[String]) -> Vec<String> {
    let unit = |(index, line): (usize, &String)| match index {
        0 => line.clone(),
        _ => format!("{line} of unit-{index}"),
    };
    lines.iter().enumerate().map(unit).collect()
}

fn to_json(step: &Step) -> String {
    let millis = format!("{}.{:03}", step.t / 1000, step.t % 1000);
    let op = format!("{:?}", step.op).to_lowercase();
    let costs = step.costs.iter().enumerate().skip(1);
    let costs: Vec<_> = costs.map(|(unit, cost)| format!("\"unit-{unit}\":{cost}")).collect();
    let costs = match costs.is_empty() {
        true => String::new(),
        false => format!(",\"costs\":{{{}}}", costs.join(",")),
    };
    let id = step.id.as_ref().map(|id| format!(",\"id\":{}", json!(id))).unwrap_or_default();
    let cost = step.costs[0];
    format!("{{\"t_ms\":{millis},\"key\":\"k\",\"cost\":{cost}{costs},\"op\":\"{op}\"{id}}}")
}

/// Converts printed milliseconds to microseconds.
fn micros(value: &Value) -> Option<u64> {
    let text = value.as_number()?.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    format!("{whole}{part:0<3}").parse().ok()
}

impl System for Tollgate {
    fn apply(&mut self, step: &Step) -> Result<Answer, TooMuch> {
        let step = to_json(step);
        let Some(decision) = self.running.decide(&step) else {
            self.restart();
            return Err(TooMuch);
        };
        self.steps.push(step);
        let bound_by = decision["bound_by"].as_str().unwrap();
        Ok(Answer {
            allowed: decision["allowed"].as_bool().unwrap(),
            limit: decision["limit"].as_u64(),
            remaining: decision["remaining"].as_u64(),
            retry_after: micros(&decision["retry_after_ms"]),
            reset_after: micros(&decision["reset_after_ms"]).unwrap(),
            bound_by: self.printed.iter().position(|line| line == bound_by).unwrap(),
        })
    }
}

fn agrees_with_model(algorithm: Algorithm) {
    compare(2, algorithm, OPERATIONS, |lines| Box::new(Tollgate::new(lines)));
}

tollgate_model::test_each_algorithm!(agrees_with_model);

/// The tests above write each operation by its name in the model.
#[test]
fn steps_are_written_as_the_binary_reads_them() {
    let line = r#"{"t_ms":1500.250,"key":"k","cost":2,"op":"reserve","id":"x"}"#;
    let units = r#"{"t_ms":1500.250,"key":"k","cost":2,"costs":{"unit-1":0,"unit-2":7},"op":"reserve","id":"x"}"#;
    for (costs, line) in [(vec![2], line), (vec![2, 0, 7], units)] {
        let step = Step { t: 1_500_250, op: Operation::Reserve, costs, id: Some("x".into()) };
        assert_eq!(to_json(&step), line);
    }
}
