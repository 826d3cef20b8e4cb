//! What the fuzzer begins with, and what it has found.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../../../fuzz/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/bodies/limit.rs"]
mod limit;
#[path = "../../../fuzz/bodies/trace.rs"]
mod trace;

#[test]
fn the_corpus_of_limits_is_read() {
    corpus::each("limit", limit::check);
}

#[test]
fn the_corpus_of_traces_is_answered() {
    corpus::each("trace", trace::check);
}
