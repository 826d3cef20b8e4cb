//! Connections: accepting them, handing them to worker threads, and moving their bytes.
//!
//! Nothing here knows a protocol or the engine. The server says what to do with an accepted connection.

pub(crate) mod acceptor;
pub(crate) mod buffers;
pub(crate) mod connection_limit;
pub(crate) mod linger;
pub(crate) mod pool;
pub(crate) mod transport;
pub(crate) mod worker;
