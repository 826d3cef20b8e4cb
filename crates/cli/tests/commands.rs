//! The commands as people and scripts run them: output, errors and exit codes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use assert_cmd::Command;
use tempfile::NamedTempFile;

fn tollgate(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("tollgate").unwrap();
    command.args(args);
    command
}

fn file(ending: &str, text: &str) -> NamedTempFile {
    let file = tempfile::Builder::new().suffix(ending).tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn run(args: &[&str], stdin: &str) -> Ran {
    let output = tollgate(args).write_stdin(stdin).output().unwrap();
    Ran {
        code: output.status.code().expect("not ended by a signal"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

const GCRA: [&str; 4] = ["simulate", "--json", "--limit", "gcra 1/s burst 5"];

#[test]
fn simulate_prints_the_documented_json() {
    let ran = run(&GCRA, "{\"t_ms\": 1500.25, \"key\": \"a\", \"cost\": 1, \"op\": \"check\"}\n");
    assert_eq!(
        ran.out,
        "{\"t_ms\":1500.25,\"key\":\"a\",\"cost\":1,\"op\":\"check\",\"allowed\":true,\"limit\":5,\
         \"remaining\":4,\"retry_after_ms\":0,\"reset_after_ms\":1000,\
         \"bound_by\":\"gcra 1/s burst 5\"}\n"
    );
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn simulate_exits_0_even_if_a_check_is_denied() {
    let ran = run(&GCRA, "{\"t_ms\":0,\"cost\":6}");
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("\"key\":\"-\",\"cost\":6,\"op\":\"check\",\"allowed\":false"));
    assert!(ran.out.contains("\"retry_after_ms\":null"));
    let unlimited = run(&["simulate", "--json", "--limit", "unlimited"], "{\"t_ms\":0}");
    assert!(unlimited.out.contains("\"limit\":null,\"remaining\":null,\"retry_after_ms\":0"));
}

#[test]
fn simulate_echoes_keys_and_escapes_them() {
    let limits = ["simulate", "--json", "--limit", "gcra 1/s per ip"];
    let ran = run(&limits, "{\"t_ms\":0,\"keys\":{\"ip\":\"a\\\"\\u0001é\",\"user\":\"7\"}}");
    assert!(ran.out.starts_with("{\"t_ms\":0,\"keys\":{\"ip\":\"a\\\"\\u0001é\",\"user\":\"7\"},"));
    let everyone = run(
        &["simulate", "--json", "--limit", "gcra 1/h burst 1 per all"],
        "{\"t_ms\":0,\"key\":\"a\"}\n{\"t_ms\":0,\"key\":\"b\"}",
    );
    assert!(everyone.out.lines().nth(1).unwrap().contains("\"allowed\":false"));
}

#[test]
fn simulate_prints_a_table_and_a_summary() {
    let ran = run(&["simulate", "--limit", "gcra 1/s burst 1"], "{\"t_ms\":0}\n{\"t_ms\":0}\n");
    assert!(ran.out.contains("✓ allowed"), "{}", ran.out);
    assert!(ran.out.contains("✗ denied"), "{}", ran.out);
    assert!(ran.out.ends_with("2 steps: 1 allowed, 1 denied (50.0%)\n"), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}'), "colours although it is not a terminal");
    let coloured = run(&["simulate", "--color", "always", "--limit", "gcra 1/s"], "{\"t_ms\":0}");
    assert!(coloured.out.contains('\u{1b}'));
}

/// Invalid steps, and what the error message must contain.
const BAD_STEPS: [(&str, &str); 35] = [
    ("x", "invalid step: expected value at column 1; expected a JSON object such as"),
    ("[]", "expected a JSON object such as {\"t_ms\":0,\"key\":\"a\"}"),
    ("{}", "t_ms is missing; expected milliseconds since the epoch"),
    ("{\"t_ms\":0", "invalid step: EOF while parsing an object"),
    ("{\"t_ms\":0} x", "invalid step: trailing characters"),
    ("{\"t_ms\":0,\"t_ms\":1}", "duplicate field \"t_ms\""),
    ("{\"t_ms\":null}", "t_ms is missing"),
    ("{\"t_ms\":\"0\"}", "t_ms \"0\" is not accepted"),
    ("{\"t_ms\":-1}", "t_ms -1 is not accepted"),
    ("{\"t_ms\":-0}", "t_ms -0 is not accepted"),
    ("{\"t_ms\":0.0001}", "t_ms 0.0001 is not accepted; expected milliseconds"),
    ("{\"t_ms\":1e-4}", "t_ms 1e-4 is not accepted"),
    ("{\"t_ms\":4503599627370.496}", "t_ms 4503599627370.496 is not accepted"),
    ("{\"t_ms\":1e300}", "t_ms 1e300 is not accepted"),
    ("{\"t_ms\":99999999999999999999999999999999999999999999}", "is not accepted"),
    ("{\"t_ms\":true}", "t_ms true is not accepted"),
    (
        "{\"tms\":0}",
        "unknown field \"tms\"; expected one of t_ms, key, keys, cost, costs, op, id (did you mean \"t_ms\"?)",
    ),
    ("{\"t_ms\":0,\"cots\":1}", "(did you mean \"cost\"?)"),
    (
        "{\"t_ms\":0,\"cost\":-1}",
        "cost -1 is not accepted; expected a whole number from 0 to 4294967295",
    ),
    ("{\"t_ms\":0,\"cost\":1.5}", "cost 1.5 is not accepted"),
    ("{\"t_ms\":0,\"cost\":4294967296}", "cost 4294967296 is not accepted"),
    ("{\"t_ms\":0,\"cost\":\"1\"}", "cost \"1\" is not accepted"),
    ("{\"t_ms\":0,\"op\":\"chekc\"}", "(did you mean \"check\"?)"),
    ("{\"t_ms\":0,\"op\":\"Check\"}", "(did you mean \"check\"?)"),
    ("{\"t_ms\":0,\"op\":7}", "op 7 is not accepted; expected a string"),
    ("{\"t_ms\":0,\"op\":\"reserve\"}", "id is missing: reserve needs one"),
    ("{\"t_ms\":0,\"op\":\"settle\"}", "id is missing: settle needs one"),
    ("{\"t_ms\":0,\"op\":\"release\"}", "id is missing: release needs one"),
    ("{\"t_ms\":0,\"op\":\"renew\"}", "id is missing: renew needs one"),
    ("{\"t_ms\":0,\"id\":\"\"}", "id is empty; expected 1 to 64 bytes"),
    ("{\"t_ms\":0,\"id\":5}", "id 5 is not accepted; expected a string"),
    ("{\"t_ms\":0,\"key\":\"\"}", "key is empty; expected 1 to 1024 bytes"),
    ("{\"t_ms\":0,\"key\":[]}", "key [] is not accepted"),
    ("{\"t_ms\":0,\"keys\":[]}", "keys [] is not accepted; expected an object of keys"),
    (
        "{\"t_ms\":0,\"op\":\"charge\",\"cost\":4294967295}",
        "charge of cost 4294967295 failed: the debt would be too large",
    ),
];

#[test]
fn every_bad_step_is_reported_with_its_line_and_exits_2() {
    for (step, message) in BAD_STEPS {
        // The debt is only too large for a slow limit.
        let limit = ["simulate", "--json", "--limit", "gcra 1/week burst 1"];
        let ran = run(&limit, &format!("{{\"t_ms\":0}}\n\n{step}\n{{\"t_ms\":0}}\n"));
        assert_eq!(ran.code, 2, "{step}");
        assert_eq!(ran.out.lines().count(), 1, "earlier steps were decided: {step}");
        assert!(ran.err.starts_with("error: standard input, line 3: "), "{step}: {}", ran.err);
        assert!(ran.err.contains(message), "{step}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
}

#[test]
fn long_keys_ids_and_lines_are_errors() {
    let long = "x".repeat(1025);
    let ran = run(&GCRA, &format!("{{\"t_ms\":0,\"key\":\"{long}\"}}"));
    assert!(ran.err.contains("key has 1025 bytes; expected 1 to 1024"), "{}", ran.err);
    let ran = run(&GCRA, &format!("{{\"t_ms\":0,\"id\":\"{}\"}}", "x".repeat(65)));
    assert!(ran.err.contains("id has 65 bytes; expected 1 to 64"), "{}", ran.err);
    let ran = run(&GCRA, &format!("{{\"t_ms\":0,\"key\":\"{}\"}}", "x".repeat(70_000)));
    assert!(ran.err.contains("line 1 is longer than 65536 bytes"), "{}", ran.err);
    assert_eq!(ran.code, 2);
}

#[test]
fn a_missing_subject_is_an_error() {
    let ran = run(&["simulate", "--limit", "gcra 1/s per ip"], "{\"t_ms\":0,\"key\":\"a\"}");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("missing key \"ip\": a limit counts per ip"), "{}", ran.err);
}

/// Invalid arguments, and what the error message must contain. All exit with 2 and print nothing.
const BAD_ARGS: [(&[&str], &str); 15] = [
    (&[], "Usage: tollgate"),
    (&["simulat"], "a similar subcommand exists: 'simulate'"),
    (&["simulate"], "--limit <LINE>"),
    (&["simulate", "--limit", "gcra 0/s"], "count \"0\" is not accepted"),
    (&["simulate", "--limit", "gcra 1/s", "--limit", "gcar 1/s"], "did you mean \"gcra\"?"),
    (&["simulate", "--limit"], "a value is required for '--limit <LINE>'"),
    (&["simulate", "--limt", "gcra 1/s"], "a similar argument exists: '--limit'"),
    (&["simulate", "--limit", "gcra 1/s", "--store", "http://h"], "expected redis://"),
    (
        &["simulate", "--limit", "gcra 1/s", "--store", "redis://127.0.0.1:1"],
        "the store cannot be reached",
    ),
    (&["simulate", "--limit", "gcra 1/s", "--trace", "/no/such/file"], "cannot read /no/such/file"),
    (&["simulate", "--limit", "gcra 1/s", "--trace", "/"], "cannot read /"),
    (&["explain"], "<LINE>"),
    (&["explain", "gcra 1/s brust 5"], "did you mean \"burst\"?"),
    (&["validate", "/no/such/file"], "cannot read /no/such/file"),
    (&["completions", "tcsh"], "invalid value 'tcsh'"),
];

#[test]
fn every_bad_flag_exits_2_and_prints_nothing() {
    for (args, message) in BAD_ARGS {
        let ran = run(args, "");
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(message), "{args:?}: {}", ran.err);
        // The head of the table may be printed before reading a directory fails.
        assert!(ran.out.lines().count() <= 1, "{args:?}: {}", ran.out);
    }
}

#[test]
fn control_characters_in_keys_are_escaped() {
    let hostile = "{\"t_ms\":0,\"key\":\"a\\nb\\u001b[31m\"}";
    let ran = run(&["simulate", "--limit", "gcra 1/s"], hostile);
    assert!(ran.out.contains("a\\u{a}b\\u{1b}[31m"), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}'));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let trace: String = (0..200_000).map(|n| format!("{{\"t_ms\":{n}}}\n")).collect();
    let trace = file(".jsonl", &trace);
    let binary = env!("CARGO_BIN_EXE_tollgate");
    let script = format!(
        "set -o pipefail; {binary} simulate --json --limit 'gcra 1/s' --trace {} | head -n 1",
        trace.path().display()
    );
    let gone = format!("set -o pipefail; (sleep 0.2; {binary} completions zsh) | true");
    for script in [script, gone] {
        let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{script}");
        assert!(output.stderr.is_empty(), "{script}");
    }
}

#[test]
fn explain_describes_each_limit() {
    let table = [
        ("gcra 30/min burst 16", "drains evenly: 30 every 1min, one every 2s"),
        ("gcra 30/min burst 16", "max in any 1min 45"),
        (
            "token-bucket 100/10s whole",
            "Every 10s, counted from when the bucket was last empty, 100 leaks out",
        ),
        ("leaky-bucket size 10", "A bucket that holds 10"),
        (
            "legacy max 10 duration 5s min-interval 1s",
            "Every 1s, counted from when the bucket was last empty, 2 leaks out",
        ),
        ("fixed-window 5/min", "across two windows 10, possibly within an instant"),
        (
            "fixed-window 5/month tz Asia/Tokyo",
            "in each calendar month, in the time zone Asia/Tokyo",
        ),
        ("request-window 5/min", "opens with the first request"),
        ("sliding-log 5/min", "memory per key 16 to 80 bytes"),
        ("sliding-counters 5/h resolution 10m", "slots of 10min"),
        ("sliding-window 100/min", "as an estimate"),
        ("ar1 max 10 decay 2 resolution 1s", "divided by 2"),
        ("ar1 max 1.2 decay 2 resolution 1s factor 0.1", "A level of at most 12."),
        ("concurrency 20 ttl 30s", "At most 20 leases at once"),
        ("unlimited", "Every request is allowed. Nothing is counted."),
        ("gcra 1/s factor 0", "Every request is allowed."),
        ("gcra 1/s count-denied per user", "Denied requests count too"),
        ("gcra 1/s count-denied per user", "Each user has a count of its own."),
        ("gcra 1/s per all", "All clients share one count."),
    ];
    for (line, text) in table {
        let ran = run(&["explain", line], "");
        assert_eq!(ran.code, 0, "{line}");
        let flat = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(text), "{line}: {}", ran.out);
        assert!(ran.out.lines().all(|line| line.chars().count() <= 100), "{}", ran.out);
    }
}

#[test]
fn explain_needs_no_quotes() {
    let quoted = run(&["explain", "gcra 30/min burst 16"], "");
    assert_eq!(run(&["explain", "gcra", "30/min", "burst", "16"], "").out, quoted.out);
}

#[test]
fn validate_reports_every_error_with_line_and_column() {
    let limits = file(".txt", "# API\ngcra 1/s burst 5\n\n  gcra 0/s\nfixed-windw 5/h # typo\n");
    let ran = run(&["validate", limits.path().to_str().unwrap()], "");
    assert_eq!(ran.code, 1);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.out);
    assert!(lines[0].contains(":4:8: limit \"  gcra 0/s\""), "{}", ran.out);
    assert!(lines[1].contains(":5:1: ") && lines[1].contains("did you mean \"fixed-window\"?"));
    assert!(ran.err.contains("2 errors"), "{}", ran.err);
}

#[test]
fn validate_reads_the_policies_of_a_config() {
    let config = file(
        ".toml",
        "[server]\nhttp = \"off\"\n[policy.login]\nlimits = [\n  \"gcra 1/s\",\n  \"gcra 1/minn\",\n]\n\
         [policy.api]\nlimit = [\"gcra 1/s\"]\n[polcy.x]\n",
    );
    let ran = run(&["validate", "--json", config.path().to_str().unwrap()], "");
    assert_eq!(ran.code, 1);
    let errors: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines: Vec<u64> = errors.iter().map(|m| m["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [6, 8, 9, 10], "{}", ran.out);
    assert_eq!(errors[0]["column"], 11);
    assert!(errors[2]["message"].as_str().unwrap().contains("did you mean \"limits\"?"));
    assert!(errors[3]["message"].as_str().unwrap().contains("did you mean \"policy\"?"));
}

#[test]
fn validate_warns_of_what_is_most_likely_a_mistake() {
    let config = |nodes: &str, policy: &str| {
        let store = "[store]\nurl = \"redis://127.0.0.1\"\n";
        let policy = format!("[policy.api]\nlimits = [\"gcra 100/s\"]\n{policy}\n");
        file(".toml", &format!("{store}{nodes}\n{policy}"))
    };
    let warning = |config: NamedTempFile| {
        let ran = run(&["validate", config.path().to_str().unwrap()], "");
        assert_eq!((ran.code, ran.out.as_str()), (0, ""));
        ran.err.lines().find_map(|line| Some(line.split_once(": warning: ")?.1.to_owned()))
    };
    for policy in ["distribution = \"write-behind\"", "on_failure = \"local\""] {
        let found = warning(config("", policy)).unwrap();
        let expected = format!("policy.api has {policy} and store.nodes is not set: ");
        assert!(found.starts_with(&expected), "{found}");
        assert_eq!(warning(config("nodes = 1", policy)), None);
    }
    assert_eq!(warning(config("", "")), None);
    assert_eq!(warning(config("", "generation = 2")), None);
    let jobs =
        "[policy.jobs]\nlimits = [\"gcra 1/s\", \"concurrency 2 ttl 30s\"]\ngeneration = 2\n";
    let found = warning(file(".toml", jobs)).unwrap();
    let expected = "policy.jobs has a concurrency limit and generation = 2: leases";
    assert!(found.starts_with(expected), "{found}");
}

#[test]
fn validate_accepts_valid_files() {
    let limits = file(".txt", "gcra 1/s\nunlimited\n");
    let ran = run(&["validate", limits.path().to_str().unwrap()], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("2 limits checked, no errors"), "{}", ran.err);

    let empty = file(".txt", "# nothing\n");
    let ran = run(&["validate", empty.path().to_str().unwrap()], "");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("the file has no limits"), "{}", ran.out);

    let nothing = file(".toml", "[policy.a]\nlimits = []\n");
    let ran = run(&["validate", nothing.path().to_str().unwrap()], "");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains(":2:10: policy.a.limits is empty"), "{}", ran.out);

    let unlimited = file(".toml", "[server]\nhttp = \"off\"\n");
    let ran = run(&["validate", unlimited.path().to_str().unwrap()], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "a server can be started with it");
    assert!(ran.err.contains("0 limits checked, no errors"), "{}", ran.err);

    let broken = file(".toml", "[policy.a\nlimits = [\n");
    let ran = run(&["validate", broken.path().to_str().unwrap()], "");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains(":1:"), "{}", ran.out);
}

#[test]
fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(&["completions", shell], "");
        assert_eq!(ran.code, 0);
        assert!(ran.out.contains("simulate"), "{shell}");
    }
}

#[test]
fn man_prints_a_page_or_writes_one_for_each_command() {
    let ran = run(&["man"], "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains(".TH tollgate 1"), "{}", ran.out);

    let dir = tempfile::TempDir::new().unwrap();
    let pages = dir.path().join("share/man1");
    let ran = run(&["man", pages.to_str().unwrap()], "");
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    for page in ["tollgate", "tollgate-serve", "tollgate-simulate", "tollgate-man"] {
        let text = std::fs::read_to_string(pages.join(format!("{page}.1"))).unwrap();
        assert!(text.contains(&format!(".TH {page} 1")), "{page}: {text}");
    }

    let file = file("", "");
    let ran = run(&["man", file.path().to_str().unwrap()], "");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("cannot write manual pages to "), "{}", ran.err);
}

#[test]
fn help_has_examples() {
    for command in ["serve", "check", "simulate", "explain", "validate", "completions", "man"] {
        let ran = run(&[command, "--help"], "");
        assert_eq!(ran.code, 0);
        assert!(ran.out.contains("Example"), "{command}");
    }
}
