//! Progress on standard error: `hot-1t: 1 2 3 4 5 6 7`.

pub(crate) fn begin(bench: &str) {
    eprint!("{bench}:");
}

pub(crate) fn round(number: usize) {
    eprint!(" {number}");
}

pub(crate) fn end() {
    eprintln!();
}
