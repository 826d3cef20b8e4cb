//! The server: threads with an event loop each, and who accepts for them.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use tokio::runtime::{self, LocalOptions};
use tokio::sync::{Barrier, mpsc, watch};
use tollgate::MemoryStore;
use tollgate_core::Store;

use crate::config::PolicyConfig;
use crate::engine::policies::mistake;
use crate::engine::{Engine, OpenConnections, StoreHandle};
use crate::host::acceptor::{Acceptor, Incoming, Protocol, listen};
use crate::host::host;
use crate::host::worker::Worker;
use crate::limits::{ConnectionLimits, HttpLimits, RespLimits};

/// A server about to be started.
#[must_use = "a builder does nothing until it starts"]
pub struct ServerBuilder {
    store: Option<StoreHandle>,
    policies: Vec<PolicyConfig>,
    resp: Option<SocketAddr>,
    http: Option<SocketAddr>,
    threads: usize,
    bounds: ConnectionLimits,
}

/// A server that runs, until it is stopped or dropped.
#[derive(Debug)]
pub struct Server {
    engine: Arc<Engine>,
    resp: Option<SocketAddr>,
    http: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl ServerBuilder {
    /// Where state is kept, if not in memory.
    pub fn store(mut self, store: Arc<dyn Store>) -> ServerBuilder {
        self.store = Some(StoreHandle::far(store));
        self
    }

    /// The memory where state is kept: one of its own, if not said.
    pub fn memory(mut self, store: Arc<MemoryStore>) -> ServerBuilder {
        self.store = Some(StoreHandle::memory(store));
        self
    }

    /// A policy that can be asked for by its name. One of the same name takes its place.
    pub fn policy(mut self, policy: impl Into<PolicyConfig>) -> ServerBuilder {
        self.policies.push(policy.into());
        self
    }

    /// Where the Redis protocol is spoken: nowhere, if not said.
    pub fn resp(mut self, address: SocketAddr) -> ServerBuilder {
        self.resp = Some(address);
        self
    }

    /// Where HTTP is spoken: nowhere, if not said.
    pub fn http(mut self, address: SocketAddr) -> ServerBuilder {
        self.http = Some(address);
        self
    }

    /// How many threads share the connections: as many as there are processors, if not said.
    pub fn threads(mut self, threads: usize) -> ServerBuilder {
        self.threads = threads.max(1);
        self
    }

    /// What clients of the Redis protocol may send, if not the [default](RespLimits::default).
    pub fn resp_limits(mut self, bounds: RespLimits) -> ServerBuilder {
        self.bounds.resp = bounds.at_least_one();
        self
    }

    /// What clients of HTTP may send, if not the [default](HttpLimits::default).
    pub fn http_limits(mut self, bounds: HttpLimits) -> ServerBuilder {
        self.bounds.http = bounds.at_least_one();
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// If an address is taken, a thread cannot be started, or a policy cannot be set.
    pub fn start(self) -> io::Result<Server> {
        refuse(&self.policies)?;
        let store = self.store.unwrap_or_else(|| StoreHandle::memory(Arc::default()));
        let engine = Arc::new(Engine::new(store, self.policies, self.threads));
        let (stop, stopped) = watch::channel(false);
        let mut server = Server { engine, resp: None, http: None, stop, threads: Vec::new() };
        let doors = server.open(self.threads, self.bounds, &stopped)?;
        let ConnectionLimits { resp, http } = self.bounds;
        let OpenConnections { resp: resp_seats, http: http_seats } = server.engine.open.clone();
        let listeners = [
            (self.resp, Protocol::Resp, resp_seats, resp.max_connections()),
            (self.http, Protocol::Http, http_seats, http.max_connections()),
        ];
        let numbers = Arc::<AtomicU64>::default();
        for (address, protocol, limit, most) in listeners {
            let Some(address) = address else { continue };
            let listener = listen(address)?;
            server.note(protocol, &listener)?;
            let (doors, stopped) = (doors.clone(), stopped.clone());
            let numbers = Arc::clone(&numbers);
            let acceptor = Acceptor { limit, doors, protocol, numbers, most };
            server.spawn("tollgate-accept", move || acceptor.accept(listener, stopped))?;
        }
        Ok(server)
    }
}

impl Server {
    /// A server to be described.
    pub fn builder() -> ServerBuilder {
        ServerBuilder {
            store: None,
            policies: Vec::new(),
            resp: None,
            http: None,
            threads: thread::available_parallelism().map_or(1, usize::from),
            bounds: ConnectionLimits::default(),
        }
    }

    /// Where the Redis protocol is spoken.
    #[must_use]
    pub fn resp(&self) -> Option<SocketAddr> {
        self.resp
    }

    /// Where HTTP is spoken.
    #[must_use]
    pub fn http(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Puts other policies in the place of all there are. Whatever is asked together is answered by
    /// the old ones or by the new ones, never by some of both. What was counted stays, as far as a
    /// limit still is of the same kind and at the same place.
    ///
    /// # Errors
    /// If a policy cannot be set; then nothing is changed.
    pub fn set_policies(&self, policies: &[PolicyConfig]) -> io::Result<()> {
        let set = refuse(policies).map(|()| self.engine.set_policies(policies));
        self.count_reload(set.is_ok());
        set
    }

    /// Counts that a config was read anew, for those who watch: also one that was refused before it
    /// came here.
    pub fn count_reload(&self, is_ok: bool) {
        let reloads = &self.engine.reloads;
        let count = if is_ok { &reloads.success } else { &reloads.failure };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Starts the threads, and answers how connections are sent to each.
    fn open(
        &mut self,
        threads: usize,
        bounds: ConnectionLimits,
        stopped: &watch::Receiver<bool>,
    ) -> io::Result<Vec<mpsc::UnboundedSender<Incoming>>> {
        let exit = Arc::new(Barrier::new(threads));
        let mut doors = Vec::new();
        for place in 0..threads {
            let (door, room) = mpsc::unbounded_channel();
            let (engine, exit) = (Arc::clone(&self.engine), Arc::clone(&exit));
            let stopped = stopped.clone();
            self.spawn("tollgate-loop", move || {
                host(Worker::new(place, engine, bounds), room, stopped, exit)
            })?;
            doors.push(door);
        }
        Ok(doors)
    }

    fn note(&mut self, protocol: Protocol, listener: &TcpListener) -> io::Result<()> {
        let address = Some(listener.local_addr()?);
        match protocol {
            Protocol::Resp => self.resp = address,
            Protocol::Http => self.http = address,
        }
        Ok(())
    }

    /// Has a thread of its own do this, and waits until it can.
    fn spawn<W: Future<Output = ()>>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> W + Send + 'static,
    ) -> io::Result<()> {
        let (tell, told) = std::sync::mpsc::channel();
        let run = move || {
            let mut runtime = runtime::Builder::new_current_thread();
            match runtime.enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => {
                    let _ = tell.send(Ok(()));
                    runtime.block_on(work());
                    // Whoever still looks for a name must not keep the server from ending.
                    runtime.shutdown_background();
                }
                Err(error) => drop(tell.send(Err(error))),
            }
        };
        self.threads.push(thread::Builder::new().name(name.to_owned()).spawn(run)?);
        told.recv().unwrap_or_else(|_| Err(io::Error::other("a thread ended at once")))
    }

    /// Finishes what is in flight, then ends: within five seconds, whatever clients do.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            // It has said why, if it did not end well.
            let _ = thread.join();
        }
    }
}

fn refuse(policies: &[PolicyConfig]) -> io::Result<()> {
    let why = policies.iter().find_map(mistake);
    why.map_or(Ok(()), |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why)))
}
