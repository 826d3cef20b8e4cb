#![no_main]

#[path = "../bodies/trace.rs"]
mod trace;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trace::check(bytes));
