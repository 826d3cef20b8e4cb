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

use crate::bounds::{Bounds, HttpBounds, RespBounds};
use crate::config::PolicyConfig;
use crate::engine::policies::mistake;
use crate::engine::{Engine, Open, Shelf};
use crate::host::event_loop::Loop;
use crate::host::host;
use crate::host::porter::{Guest, Porter, Protocol, listen};

/// A server about to be started.
#[must_use = "a builder does nothing until it starts"]
pub struct Builder {
    shelf: Option<Shelf>,
    policies: Vec<PolicyConfig>,
    resp: Option<SocketAddr>,
    http: Option<SocketAddr>,
    loops: usize,
    bounds: Bounds,
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

impl Builder {
    /// Where state is kept, if not in memory.
    pub fn store(mut self, store: Arc<dyn Store>) -> Builder {
        self.shelf = Some(Shelf::far(store));
        self
    }

    /// The memory where state is kept: one of its own, if not said.
    pub fn memory(mut self, store: Arc<MemoryStore>) -> Builder {
        self.shelf = Some(Shelf::memory(store));
        self
    }

    /// A policy that can be asked for by its name. One of the same name takes its place.
    pub fn policy(mut self, policy: impl Into<PolicyConfig>) -> Builder {
        self.policies.push(policy.into());
        self
    }

    /// Where the Redis protocol is spoken: nowhere, if not said.
    pub fn resp(mut self, address: SocketAddr) -> Builder {
        self.resp = Some(address);
        self
    }

    /// Where HTTP is spoken: nowhere, if not said.
    pub fn http(mut self, address: SocketAddr) -> Builder {
        self.http = Some(address);
        self
    }

    /// How many threads share the connections: as many as there are processors, if not said.
    pub fn loops(mut self, loops: usize) -> Builder {
        self.loops = loops.max(1);
        self
    }

    /// What clients of the Redis protocol may send, if not the [default](RespBounds::default).
    pub fn resp_bounds(mut self, bounds: RespBounds) -> Builder {
        self.bounds.resp = bounds.at_least_one();
        self
    }

    /// What clients of HTTP may send, if not the [default](HttpBounds::default).
    pub fn http_bounds(mut self, bounds: HttpBounds) -> Builder {
        self.bounds.http = bounds.at_least_one();
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// If an address is taken, a thread cannot be started, or a policy cannot be set.
    pub fn start(self) -> io::Result<Server> {
        refuse(&self.policies)?;
        let shelf = self.shelf.unwrap_or_else(|| Shelf::memory(Arc::default()));
        let engine = Arc::new(Engine::new(shelf, self.policies, self.loops));
        let (stop, stopped) = watch::channel(false);
        let mut server = Server { engine, resp: None, http: None, stop, threads: Vec::new() };
        let doors = server.open(self.loops, self.bounds, &stopped)?;
        let Bounds { resp, http } = self.bounds;
        let Open { resp: resp_seats, http: http_seats } = server.engine.open.clone();
        let listeners = [
            (self.resp, Protocol::Resp, resp_seats, resp.most()),
            (self.http, Protocol::Http, http_seats, http.most()),
        ];
        let numbers = Arc::<AtomicU64>::default();
        for (address, protocol, seats, most) in listeners {
            let Some(address) = address else { continue };
            let listener = listen(address)?;
            server.note(protocol, &listener)?;
            let (doors, stopped) = (doors.clone(), stopped.clone());
            let numbers = Arc::clone(&numbers);
            let porter = Porter { seats, doors, protocol, numbers, most };
            server.spawn("tollgate-accept", move || porter.accept(listener, stopped))?;
        }
        Ok(server)
    }
}

impl Server {
    /// A server to be described.
    pub fn builder() -> Builder {
        Builder {
            shelf: None,
            policies: Vec::new(),
            resp: None,
            http: None,
            loops: thread::available_parallelism().map_or(1, usize::from),
            bounds: Bounds::default(),
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
    pub fn count_reload(&self, is_done: bool) {
        let reloads = &self.engine.reloads;
        let count = if is_done { &reloads.done } else { &reloads.refused };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Starts the loops, and answers how guests are sent to each.
    fn open(
        &mut self,
        loops: usize,
        bounds: Bounds,
        stopped: &watch::Receiver<bool>,
    ) -> io::Result<Vec<mpsc::UnboundedSender<Guest>>> {
        let exit = Arc::new(Barrier::new(loops));
        let mut doors = Vec::new();
        for place in 0..loops {
            let (door, room) = mpsc::unbounded_channel();
            let (engine, exit) = (Arc::clone(&self.engine), Arc::clone(&exit));
            let stopped = stopped.clone();
            self.spawn("tollgate-loop", move || {
                host(Loop::new(place, engine, bounds), room, stopped, exit)
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
