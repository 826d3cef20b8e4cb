//! What the fuzzer begins with, and what it has found.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../../../fuzz/bodies/config.rs"]
mod config;
#[path = "../../../fuzz/corpus.rs"]
mod corpus;

#[test]
fn the_corpus_of_configs_is_read() {
    corpus::each("config", config::check);
}
