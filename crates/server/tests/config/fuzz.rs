//! Any text gives a config or errors.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use tollgate_server::{Config, Diagnostic};

use crate::DESIGN;

/// Tokens from which files are generated.
const WORDS: &str = "[ ] [[ ]] { } = . , \" ' \"\"\" ''' # \\ \\u00e9 é \u{1b} \0 \u{feff} \
    server store policy rule lists tls auth http resp grpc threads http_limits resp_limits limits \
    candidate overrides key factor enforce headers distribution flush cap read max_slice on_failure when keys cost allow \
    deny url prefix max_keys max_memory timeout off true 0 1 -1 1.5 1e400 inf 0x10 1979-05-27 \"5s\" \
    \"ip=1\" \"redis://a\" [server.http_limits]";

/// Separators, and whole limits.
const REST: [&str; 7] = [
    "\n",
    "\r\n",
    "\r",
    " ",
    "\"gcra 1/s\"",
    "\"gcra 1/s per ip\"",
    "\n[policy.a]\nlimits = [\"gcra 1/s\"]\n",
];

fn token() -> impl Strategy<Value = &'static str> {
    let words = WORDS.split(' ').collect::<Vec<_>>();
    prop_oneof![3 => select(words), 1 => select(&REST[..])]
}

fn config(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(1);
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..Default::default() }
}

/// Checks what holds for any result.
fn check(text: &str) -> Result<(), TestCaseError> {
    let diagnostics = match Config::parse(text) {
        Ok(config) => config.unsupported,
        Err(errors) => {
            prop_assert!(!errors.is_empty());
            errors
        }
    };
    prop_assert!(diagnostics.len() <= 100);
    prop_assert!(diagnostics.is_sorted_by_key(|one| (one.line, one.column)));
    for Diagnostic { line, column, message, .. } in &diagnostics {
        let length = text.split('\n').nth(line - 1).map(|line| line.chars().count());
        prop_assert!(length.is_some_and(|length| (1..=length + 1).contains(column)), "{}", message);
        prop_assert!(!message.is_empty() && !message.contains(char::is_control), "{:?}", message);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(5_000))]

    #[test]
    fn any_text_has_a_result(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_tokens_have_a_result(tokens in vec(token(), 0..60)) {
        check(&tokens.concat())?;
    }

    /// Replaces parts of a valid file.
    #[test]
    fn any_change_of_a_file_has_a_result(
        changes in vec((0..DESIGN.len(), 0_usize..20, vec(token(), 0..4)), 1..6),
    ) {
        let mut text: Vec<char> = DESIGN.chars().collect();
        for (at, removed, inserted) in changes {
            let start = at.min(text.len());
            let end = (start + removed).min(text.len());
            text.splice(start..end, inserted.concat().chars());
        }
        check(&text.into_iter().collect::<String>())?;
    }

    /// Joins lines of a valid file in any order and number.
    #[test]
    fn any_order_of_lines_has_a_result(
        lines in vec(select(DESIGN.lines().collect::<Vec<_>>()), 0..40),
    ) {
        check(&lines.join("\n"))?;
    }

    #[test]
    fn any_url_has_a_result(
        scheme in select(vec!["redis", "rediss", "redis+cluster", "redis+sentinel", "unix", "x"]),
        rest in "[a-z:@/,?%&=#0-9\\[\\]é-]{0,30}",
    ) {
        check(&format!("[store]\nurl = '{scheme}://{rest}'\n"))?;
    }
}
