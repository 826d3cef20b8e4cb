//! Too many bytes, policies, limits, brackets and errors.

use std::fmt::Write as _;

use tollgate_server::Config;

use crate::{DESIGN, errors, lines};

const MIB: usize = 1024 * 1024;

#[test]
fn a_file_has_at_most_one_mebibyte() {
    let fill = |bytes: usize| format!("{DESIGN}{}", "#".repeat(bytes - DESIGN.len()));
    assert_eq!(errors(&fill(MIB)), "");
    let expected = "1:1: the file has 1048577 bytes; expected at most 1048576";
    assert_eq!(errors(&fill(MIB + 1)), expected);
}

fn policies(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        writeln!(text, "[policy.p{n}]\nlimits = [\"gcra 1/s\"]").unwrap();
        text
    })
}

/// There is no second error for the rule: the policy it names is there.
#[test]
fn a_file_has_at_most_ten_thousand_policies() {
    let rule = "[[rule]]\npolicy = \"p7\"\n";
    assert_eq!(Config::parse(&(policies(10_000) + rule)).unwrap().policies.len(), 10_000);
    let expected = "1:2: policy has 10001 tables; expected at most 10000";
    assert_eq!(errors(&(policies(10_001) + rule)), expected);
}

#[test]
fn a_policy_has_at_most_a_hundred_limits() {
    let limits = |count: usize| format!("limits = [{}]", "\"gcra 1/s\",".repeat(count));
    assert_eq!(errors(&format!("[policy.a]\n{}", limits(100))), "");
    let expected = "2:10: policy.a.limits has 101 limits; expected at most 100";
    assert_eq!(errors(&format!("[policy.a]\n{}", limits(101))), expected);
    let remote = format!("store.url = \"redis://h\"\n[policy.a]\n{}", limits(16));
    assert_eq!(errors(&remote), "");
}

#[test]
fn a_hundred_errors_are_reported_and_the_last_says_how_many_more() {
    for (count, more) in [(100, ""), (101, " (and 1 more)"), (5_000, " (and 4900 more)")] {
        let text: String = (0..count).map(|n| format!("x{n} = 1\n")).collect();
        let reported = Config::parse(&text).unwrap_err();
        assert_eq!(reported.len(), 100);
        let last = "100:1: unknown key x99; expected server, store, policy, rule or lists";
        assert_eq!(reported.last().unwrap().to_string(), format!("{last}{more}"));
    }
    let text = "=\n".repeat(200);
    assert_eq!(Config::parse(&text).unwrap_err().len(), 100);
}

#[test]
fn nesting_is_limited() {
    let expected = "1:85: invalid TOML: cannot recurse further; max recursion depth met";
    for (open, close) in [("[", "]"), ("[[", "]]"), ("[", "")] {
        let text = format!("x = {}{}", open.repeat(100_000), close.repeat(100_000));
        assert!(errors(&text).starts_with(expected), "{open}");
    }
    let tables = format!("x = {}", "{ a = ".repeat(100_000));
    assert!(errors(&tables).contains("max recursion depth met"));
    let dotted = format!("a{} = 1", ".a".repeat(100_000));
    assert_eq!(errors(&dotted), "1:1: invalid TOML: recursion limit");
    let header = format!("[a{}]", ".a".repeat(100_000));
    assert_eq!(errors(&header), "1:1: invalid TOML: recursion limit");
}

/// Long text in the file does not make messages long.
#[test]
fn long_text_is_truncated_in_messages() {
    let long = "x".repeat(500_000);
    let limits = "limits = [\"gcra 1/s\"]";
    for (text, expected) in [
        (format!("{long} = 1"), "1:1: unknown key xxxxx"),
        (format!("\"{long} \" = 1"), "1:1: unknown key \"xxxxx"),
        (format!("[policy.{long}]\n{limits}"), "1:9: policy: name has 500000 bytes; expected"),
        (format!("[server]\nhttp = \"{long}\""), "2:8: server.http is \"xxxxx"),
        (format!("[server]\nthreads = {}", "1".repeat(500_000)), "2:11: server.threads is 11111"),
        (format!("[server]\nhttp_limits.idle = \"{long}\""), "2:20: server.http_limits.idle is"),
        (format!("[store]\nurl = \"{long}\""), "2:7: store.url: not the URL"),
        (format!("[store]\nurl = \"{long}://\""), "2:7: store.url: not the URL"),
        (format!("[store]\nprefix = \"{long}\""), "2:10: store.prefix is \"xxxxx"),
        (
            format!("[policy.a]\nlimits = [\"{long}\"]"),
            "2:11: an item of policy.a.limits has 500000 bytes; expected at most 1024",
        ),
        (format!("[policy.a]\n{limits}\nenforce = \"{long}\""), "3:11: policy.a.enforce is \"xx"),
        (format!("[policy.a]\n{limits}\nheaders = \"{long}\""), "3:11: policy.a.headers is \"xx"),
        (
            format!("[policy.a]\n{limits}\noverrides = [{{ key = \"{long}\", factor = 1 }}]"),
            "3:22: policy.a.overrides: key has 500000 bytes; expected 1 to 1024",
        ),
        (format!("[[rule]]\npolicy = \"{long}\""), "2:10: rule.policy is \"xxxxx"),
        (format!("[lists]\nallow = [\"{long}\"]"), "2:10: an item of lists.allow is \"xxxxx"),
    ] {
        let errors = Config::parse(&text).unwrap_err();
        assert!(lines(&errors).starts_with(expected), "{expected}: {:.200}", lines(&errors));
        assert!(errors.iter().all(|error| error.message.chars().count() <= 2_001), "{expected}");
    }
}
