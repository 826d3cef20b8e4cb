//! Any text gets an answer.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use tollgate_server::{Config, Diagnostic};

use crate::DESIGN;

/// Words of which files are made.
const WORDS: &str = "[ ] [[ ]] { } = . , \" ' \"\"\" ''' # \\ \\u00e9 é \u{1b} \0 \u{feff} \
    server store policy rule lists tls auth http resp grpc threads http_limits resp_limits limits \
    candidate overrides key factor enforce headers distribution on_failure when keys cost allow \
    deny url prefix max_keys timeout off true 0 1 -1 1.5 1e400 inf 0x10 1979-05-27 \"5s\" \
    \"ip=1\" \"redis://a\" [server.http_limits]";

/// What stands between them, and whole limits.
const REST: [&str; 7] = [
    "\n",
    "\r\n",
    "\r",
    " ",
    "\"gcra 1/s\"",
    "\"gcra 1/s per ip\"",
    "\n[policy.a]\nlimits = [\"gcra 1/s\"]\n",
];

fn piece() -> impl Strategy<Value = &'static str> {
    let words = WORDS.split(' ').collect::<Vec<_>>();
    prop_oneof![3 => select(words), 1 => select(&REST[..])]
}

fn config(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(1);
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..Default::default() }
}

/// What holds for any answer.
fn check(text: &str) -> Result<(), TestCaseError> {
    let told = match Config::parse(text) {
        Ok(config) => config.not_yet,
        Err(mistakes) => {
            prop_assert!(!mistakes.is_empty());
            mistakes
        }
    };
    prop_assert!(told.len() <= 100);
    prop_assert!(told.is_sorted_by_key(|told| (told.line, told.column)));
    for Diagnostic { line, column, what, .. } in &told {
        let length = text.split('\n').nth(line - 1).map(|line| line.chars().count());
        prop_assert!(length.is_some_and(|length| (1..=length + 1).contains(column)), "{}", what);
        prop_assert!(!what.is_empty() && !what.contains(char::is_control), "{:?}", what);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(5_000))]

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_pieces_are_answered(pieces in vec(piece(), 0..60)) {
        check(&pieces.concat())?;
    }

    /// Something is taken out of a file without mistakes, and something else put in.
    #[test]
    fn any_change_of_a_file_is_answered(
        changes in vec((0..DESIGN.len(), 0_usize..20, vec(piece(), 0..4)), 1..6),
    ) {
        let mut text: Vec<char> = DESIGN.chars().collect();
        for (at, taken, put) in changes {
            let start = at.min(text.len());
            let end = (start + taken).min(text.len());
            text.splice(start..end, put.concat().chars());
        }
        check(&text.into_iter().collect::<String>())?;
    }

    /// Lines of it, in any order and any number.
    #[test]
    fn any_order_of_lines_is_answered(
        lines in vec(select(DESIGN.lines().collect::<Vec<_>>()), 0..40),
    ) {
        check(&lines.join("\n"))?;
    }

    #[test]
    fn any_url_is_answered(
        scheme in select(vec!["redis", "rediss", "redis+cluster", "redis+sentinel", "unix", "x"]),
        rest in "[a-z:@/,?%&=#0-9\\[\\]é-]{0,30}",
    ) {
        check(&format!("[store]\nurl = '{scheme}://{rest}'\n"))?;
    }
}
