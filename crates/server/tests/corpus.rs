//! Runs the corpus of the config fuzz target.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../../../fuzz/bodies/config.rs"]
mod config;
#[path = "../../../fuzz/corpus.rs"]
mod corpus;

#[test]
fn the_config_corpus_passes() {
    corpus::each("config", config::check);
}
