//! More than there may be: of bytes, policies, limits, brackets and mistakes.

use std::fmt::Write as _;

use tollgate_server::Config;

use crate::{DESIGN, lines, mistakes};

const MIB: usize = 1024 * 1024;

#[test]
fn a_file_has_a_mebibyte_at_most() {
    let fill = |bytes: usize| format!("{DESIGN}{}", "#".repeat(bytes - DESIGN.len()));
    assert_eq!(mistakes(&fill(MIB)), "");
    let told = "1:1: the file has 1048577 bytes; expected at most 1048576";
    assert_eq!(mistakes(&fill(MIB + 1)), told);
}

fn policies(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        writeln!(text, "[policy.p{n}]\nlimits = [\"gcra 1/s\"]").unwrap();
        text
    })
}

/// Nothing else is told of them: a rule may well name one.
#[test]
fn a_file_has_ten_thousand_policies_at_most() {
    let rule = "[[rule]]\npolicy = \"p7\"\n";
    assert_eq!(Config::parse(&(policies(10_000) + rule)).unwrap().policies.len(), 10_000);
    let told = "1:2: policy is a table of 10001 policies; expected at most 10000";
    assert_eq!(mistakes(&(policies(10_001) + rule)), told);
}

#[test]
fn a_policy_has_a_hundred_limits_at_most() {
    let limits = |count: usize| format!("limits = [{}]", "\"gcra 1/s\",".repeat(count));
    assert_eq!(mistakes(&format!("[policy.a]\n{}", limits(100))), "");
    let told = "2:10: policy.a.limits is a list of 101 limits; expected at most 100";
    assert_eq!(mistakes(&format!("[policy.a]\n{}", limits(101))), told);
    let far = format!("store.url = \"redis://h\"\n[policy.a]\n{}", limits(16));
    assert_eq!(mistakes(&far), "");
}

#[test]
fn a_hundred_mistakes_are_told_and_the_last_says_how_many_more() {
    for (count, more) in [(100, ""), (101, " (and 1 more)"), (5_000, " (and 4900 more)")] {
        let text: String = (0..count).map(|n| format!("x{n} = 1\n")).collect();
        let told = Config::parse(&text).unwrap_err();
        assert_eq!(told.len(), 100);
        let last = "100:1: x99 is not known; expected server, store, policy, rule or lists";
        assert_eq!(told.last().unwrap().to_string(), format!("{last}{more}"));
    }
    let text = "=\n".repeat(200);
    assert_eq!(Config::parse(&text).unwrap_err().len(), 100);
    let later: String = (0..150)
        .map(|n| format!("[policy.p{n}]\nlimits = [\"gcra 1/s\"]\non_failure = \"allow\"\n"))
        .collect();
    let last = "300:14: policy.p99.on_failure is not acted on yet (and 50 more)";
    let not_yet = Config::parse(&later).unwrap().not_yet;
    assert_eq!((not_yet.len(), not_yet.last().unwrap().to_string().as_str()), (100, last));
}

#[test]
fn brackets_in_brackets_end_somewhere() {
    let told = "1:85: no TOML: cannot recurse further; max recursion depth met";
    for (open, close) in [("[", "]"), ("[[", "]]"), ("[", "")] {
        let text = format!("x = {}{}", open.repeat(100_000), close.repeat(100_000));
        assert!(mistakes(&text).starts_with(told), "{open}");
    }
    let tables = format!("x = {}", "{ a = ".repeat(100_000));
    assert!(mistakes(&tables).contains("max recursion depth met"));
    let dotted = format!("a{} = 1", ".a".repeat(100_000));
    assert_eq!(mistakes(&dotted), "1:1: no TOML: recursion limit");
    let header = format!("[a{}]", ".a".repeat(100_000));
    assert_eq!(mistakes(&header), "1:1: no TOML: recursion limit");
}

/// What is long in the file is not long in what is told.
#[test]
fn long_words_are_not_repeated_in_full() {
    let long = "x".repeat(500_000);
    let limits = "limits = [\"gcra 1/s\"]";
    for (text, told) in [
        (format!("{long} = 1"), "1:1: xxxxx"),
        (format!("\"{long} \" = 1"), "1:1: \"xxxxx"),
        (format!("[policy.{long}]\n{limits}"), "1:9: policy: name has 500000 bytes; expected"),
        (format!("[server]\nhttp = \"{long}\""), "2:8: server.http is \"xxxxx"),
        (format!("[server]\nthreads = {}", "1".repeat(500_000)), "2:9: server.threads is 11111"),
        (format!("[server]\nhttp_limits.idle = \"{long}\""), "2:20: server.http_limits.idle is"),
        (format!("[store]\nurl = \"{long}\""), "2:7: store.url is not the URL"),
        (format!("[store]\nurl = \"{long}://\""), "2:7: store.url is not the URL"),
        (format!("[store]\nprefix = \"{long}\""), "2:10: store.prefix is \"xxxxx"),
        (
            format!("[policy.a]\nlimits = [\"{long}\"]"),
            "2:11: an item of policy.a.limits is of 500000 bytes; expected at most 1024",
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
        let mistakes = Config::parse(&text).unwrap_err();
        assert!(lines(&mistakes).starts_with(told), "{told}: {:.200}", lines(&mistakes));
        assert!(mistakes.iter().all(|mistake| mistake.what.chars().count() <= 2_001), "{told}");
    }
}
