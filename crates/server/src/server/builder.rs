//! Describes a server before it is started.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use tollgate::MemoryStore;
use tollgate::layers::LayeredStore;
use tollgate_core::{Store, StoreError};
use tollgate_http::Network;

use super::Server;
use crate::config::PolicyConfig;
use crate::engine::StoreHandle;
use crate::limits::{ConnectionLimits, HttpLimits, RespLimits};

/// Describes a [`Server`].
///
/// ```
/// use tollgate_server::{MemoryStore, RespLimits, Server};
///
/// let store = MemoryStore::builder().max_keys(100_000).build()?;
/// let mut limits = RespLimits::default();
/// limits.connections = 100;
/// let address = "127.0.0.1:0".parse()?;
/// let builder = Server::builder().memory(store).resp(address).resp_limits(limits).threads(1);
/// assert!(builder.start()?.resp().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing until it starts"]
pub struct ServerBuilder {
    pub(super) store: Option<StoreHandle>,
    pub(super) store_error: Option<StoreError>,
    pub(super) policies: Vec<PolicyConfig>,
    pub(super) resp: Option<SocketAddr>,
    pub(super) http: Option<SocketAddr>,
    pub(super) threads: usize,
    pub(super) limits: ConnectionLimits,
    pub(super) trusted_proxies: Vec<Network>,
}

impl ServerBuilder {
    pub(super) fn new() -> ServerBuilder {
        ServerBuilder {
            store: None,
            store_error: None,
            policies: Vec::new(),
            resp: None,
            http: None,
            threads: thread::available_parallelism().map_or(1, usize::from),
            limits: ConnectionLimits::default(),
            trusted_proxies: Vec::new(),
        }
    }

    /// Keeps state in a remote store with layers around it. While it is unavailable, checks are answered as
    /// their policies [choose](PolicyConfig::on_failure).
    pub fn layered(mut self, store: Arc<LayeredStore>) -> ServerBuilder {
        self.store = Some(StoreHandle::layered(store));
        self
    }

    /// Starts with a store that is known to be unavailable, for this reason, as the metrics then say. When it
    /// responds, that is logged.
    pub fn store_unavailable(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.store_error = Some(StoreError::unavailable(cause));
        self
    }

    /// Keeps state in a store other than memory, without layers: while it is unavailable, every check is an
    /// error.
    pub fn store(mut self, store: Arc<dyn Store>) -> ServerBuilder {
        self.store = Some(StoreHandle::remote(store));
        self
    }

    /// Keeps state in this memory store. Default: a new one.
    pub fn memory(mut self, store: Arc<MemoryStore>) -> ServerBuilder {
        self.store = Some(StoreHandle::memory(store));
        self
    }

    /// Adds a policy, or replaces the one with the same name.
    pub fn policy(mut self, policy: impl Into<PolicyConfig>) -> ServerBuilder {
        self.policies.push(policy.into());
        self
    }

    /// Listens for RESP on this address. Default: no listener.
    pub fn resp(mut self, address: SocketAddr) -> ServerBuilder {
        self.resp = Some(address);
        self
    }

    /// Listens for HTTP on this address. Default: no listener.
    pub fn http(mut self, address: SocketAddr) -> ServerBuilder {
        self.http = Some(address);
        self
    }

    /// Sets the number of worker threads. Default: the number of processors.
    pub fn threads(mut self, threads: usize) -> ServerBuilder {
        self.threads = threads.max(1);
        self
    }

    /// Sets the limits on RESP connections. Default: [`RespLimits::default`].
    pub fn resp_limits(mut self, limits: RespLimits) -> ServerBuilder {
        self.limits.resp = limits.at_least_one();
        self
    }

    /// Sets the limits on HTTP connections. Default: [`HttpLimits::default`].
    pub fn http_limits(mut self, limits: HttpLimits) -> ServerBuilder {
        self.limits.http = limits.at_least_one();
        self
    }

    /// Trusts these proxies, besides those on this machine: they receive `Tollgate-Silenced: 1` where a request was denied
    /// silently.
    pub fn trusted_proxies(mut self, networks: impl Into<Vec<Network>>) -> ServerBuilder {
        self.trusted_proxies = networks.into();
        self
    }

    /// Starts the server.
    ///
    /// # Errors
    /// Fails if an address cannot be bound, a thread cannot be started, or a policy is invalid.
    pub fn start(self) -> io::Result<Server> {
        Server::start(self)
    }
}
