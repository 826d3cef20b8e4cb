//! The metrics page: what the engine and the connections have counted, for Prometheus.

mod page;

pub(crate) use page::{CONTENT_TYPE, OpenConnections, Page};
