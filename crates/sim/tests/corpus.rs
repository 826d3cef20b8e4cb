//! Runs the fuzzing corpora: the seeds, and what the fuzzer has found.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../../../fuzz/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/bodies/limit.rs"]
mod limit;
#[path = "../../../fuzz/bodies/trace.rs"]
mod trace;

#[test]
fn limit_corpus_is_accepted() {
    corpus::each("limit", limit::check);
}

#[test]
fn trace_corpus_is_decided() {
    corpus::each("trace", trace::check);
}
