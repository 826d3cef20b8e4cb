//! Compares what a command prints with what a document says.

/// What in a document stands for any number of lines, also for none.
const GAP: &str = "…";

/// Returns an error unless exactly the documented lines are printed. Empty lines do not count.
pub(crate) fn compare(documented: &str, output: &str) -> Result<(), String> {
    let [expected, printed] = [documented, output].map(lines);
    match is_printed(&expected, &printed) {
        true => Ok(()),
        false => Err(format!("documented was:\n{documented}\nprinted was:\n{output}")),
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(timeless).filter(|line| !line.is_empty()).collect()
}

fn is_printed(documented: &[String], printed: &[String]) -> bool {
    match documented {
        [] => printed.is_empty(),
        [gap, rest @ ..] if gap.trim() == GAP => {
            (0..=printed.len()).any(|skipped| is_printed(rest, &printed[skipped..]))
        }
        [line, rest @ ..] => printed
            .split_first()
            .is_some_and(|(first, left)| first == line && is_printed(rest, left)),
    }
}

/// The line without what depends on when it was printed, and without trailing space.
fn timeless(line: &str) -> String {
    let line = line.trim_end();
    if line.starts_with("date: ") {
        return "date: ".to_owned();
    }
    let mut kept = String::new();
    let mut rest = line;
    // Simulated times are exact, and carry the time they are at; answers of a running server do not.
    while let Some(at) = rest.find("_after_ms\":").filter(|_| !line.contains("\"t_ms\":")) {
        let (before, after) = rest.split_at(at + "_after_ms\":".len());
        kept.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    }
    kept + rest
}

#[test]
fn only_what_a_gap_stands_for_may_be_printed_beside() {
    let printed = "a\n\nb\nc\n";
    for documented in ["a\nb\nc", "…\na\nb\nc\n…", "a\n  …\nc", "…\nc", "a\n…", "…"] {
        assert_eq!(compare(documented, printed), Ok(()), "{documented:?}");
    }
    for documented in ["", "a\nb", "b\nc", "a\nc", "…\nb", "b\n…", "a\n…\nb", "c\n…\na"] {
        assert!(compare(documented, printed).is_err(), "{documented:?}");
    }
}
