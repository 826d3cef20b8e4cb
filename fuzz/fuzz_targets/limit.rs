#![no_main]

#[path = "../bodies/limit.rs"]
mod limit;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| limit::check(bytes));
