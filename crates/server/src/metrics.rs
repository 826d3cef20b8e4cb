//! Metrics in the text format of Prometheus: what the engine and the connections have counted.

mod exposition;
mod layers;

pub(crate) use exposition::{CONTENT_TYPE, Exposition, OpenConnections};
