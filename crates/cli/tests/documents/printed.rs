//! Compares what a command prints with what a document says.

/// What in a document stands for any number of lines.
const GAP: &str = "…";

/// Returns an error unless each documented line is printed, in order.
pub(crate) fn compare(documented: &str, output: &str) -> Result<(), String> {
    let mut printed = output.lines();
    let lines = documented.lines().filter(|line| line.trim() != GAP && !line.trim().is_empty());
    for line in lines {
        if !printed.by_ref().any(|printed| timeless(printed) == timeless(line)) {
            return Err(format!("documented, but not printed:\n{line}\nprinted was:\n{output}"));
        }
    }
    Ok(())
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
