//! Metrics in the text format of Prometheus: what the engine and the connections have counted.

mod exposition;
mod layers;
mod memory_store;

pub(crate) use exposition::{CONTENT_TYPE, Exposition, OpenConnections};
