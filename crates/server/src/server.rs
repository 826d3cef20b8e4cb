//! Puts the server together: acceptors, worker threads, and a service for each protocol.

mod builder;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use tokio::net::TcpStream;
use tokio::runtime::{self, LocalOptions};
use tokio::sync::{Barrier, mpsc, watch};
use tollgate_http::Network;

use crate::config::PolicyConfig;
use crate::engine::Engine;
use crate::engine::policies;
use crate::limits::ConnectionLimits;
use crate::metrics::OpenConnections;
use crate::net::acceptor::{Acceptor, Incoming};
use crate::net::connection_limit::{ConnectionLimit, MaxConnections};
use crate::net::worker::Worker;
use crate::{http, resp};
pub use builder::ServerBuilder;

/// A running server. It stops when it is dropped.
///
/// ```
/// use tollgate_server::{Name, Policy, Server};
///
/// let api = Policy::parse(Name::new("api")?, ["gcra 100/s burst 200"])?;
/// // Port 0 lets the system choose one.
/// let server = Server::builder().policy(api).http("127.0.0.1:0".parse()?).start()?;
/// println!("POST /v1/check to http://{}", server.http().unwrap());
/// server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Server {
    engine: Arc<Engine>,
    resp: Option<SocketAddr>,
    http: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Resp,
    Http,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::Resp => "RESP",
            Protocol::Http => "HTTP",
        })
    }
}

/// What a worker does with connections: one service for each protocol.
struct Services {
    resp: Rc<resp::Service>,
    http: Rc<http::Service>,
}

impl Services {
    async fn serve(self: Rc<Services>, incoming: Incoming<Protocol>) {
        let Incoming { stream, peer, number, protocol, permit } = incoming;
        let Ok(stream) = TcpStream::from_std(stream) else { return };
        match protocol {
            Protocol::Resp => resp::serve(Rc::clone(&self.resp), stream, number).await,
            Protocol::Http => http::serve(Rc::clone(&self.http), stream, peer, number).await,
        }
        // The connection counts until it is closed.
        drop(permit);
    }
}

impl Server {
    /// Returns a builder for a server with its own memory store and no listeners.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::new()
    }

    /// Returns the address of the RESP listener.
    #[must_use]
    pub fn resp(&self) -> Option<SocketAddr> {
        self.resp
    }

    /// Returns the address of the HTTP listener.
    #[must_use]
    pub fn http(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Replaces all policies at once. Operations that arrived together are answered by the old policies or
    /// by the new ones, never by some of both. A limit keeps its counts if the limit at the same position of
    /// the policy had the same rule.
    ///
    /// # Errors
    /// Fails if a policy cannot be set; then nothing is changed.
    pub fn set_policies(&self, policies: &[PolicyConfig]) -> io::Result<()> {
        let set = validate(policies).map(|()| self.engine.set_policies(policies));
        self.count_reload(set.is_ok());
        set
    }

    /// Counts a reload in the metrics. [`set_policies`](Server::set_policies) does so by itself; call this for
    /// a config that failed before it came to that.
    pub fn count_reload(&self, is_ok: bool) {
        let reloads = &self.engine.reloads;
        let count = if is_ok { &reloads.success } else { &reloads.failure };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Finishes the requests in flight, then stops: within five seconds, whatever clients do.
    pub fn stop(self) {
        drop(self);
    }

    fn start(builder: ServerBuilder) -> io::Result<Server> {
        validate(&builder.policies)?;
        let store = builder.store.unwrap_or_default();
        if let Some(error) = builder.store_error {
            store.set_unavailable(error);
        }
        let engine = Arc::new(Engine::new(store, builder.policies, builder.threads));
        let (stop, stopped) = watch::channel(false);
        let mut server = Server { engine, resp: None, http: None, stop, threads: Vec::new() };
        let ConnectionLimits { resp, http } = builder.limits;
        let limit =
            |total, per_peer| Arc::new(ConnectionLimit::new(MaxConnections { total, per_peer }));
        let connections = OpenConnections {
            resp: limit(resp.connections, resp.peer_connections),
            http: limit(http.connections, http.peer_connections),
        };
        let trusted = builder.trusted_proxies.into();
        let workers = server.spawn_workers(
            builder.threads,
            builder.limits,
            &trusted,
            &connections,
            &stopped,
        )?;
        let OpenConnections { resp: resp_limit, http: http_limit } = connections;
        let listeners = [
            (builder.resp, Protocol::Resp, resp_limit, resp::CONNECTION_REFUSED),
            (builder.http, Protocol::Http, http_limit, http::CONNECTION_REFUSED),
        ];
        let numbers = Arc::<AtomicU64>::default();
        for (address, protocol, limit, refusal) in listeners {
            let Some(address) = address else { continue };
            let listener = crate::net::acceptor::listen(address)?;
            server.set_address(protocol, &listener)?;
            let (workers, numbers, stopped) =
                (workers.clone(), Arc::clone(&numbers), stopped.clone());
            let acceptor = Acceptor { protocol, limit, workers, numbers, refusal };
            server.spawn("tollgate-accept", move || acceptor.accept(listener, stopped))?;
        }
        Ok(server)
    }

    fn set_address(&mut self, protocol: Protocol, listener: &TcpListener) -> io::Result<()> {
        let address = Some(listener.local_addr()?);
        match protocol {
            Protocol::Resp => self.resp = address,
            Protocol::Http => self.http = address,
        }
        Ok(())
    }

    /// Starts the workers. Returns how to send connections to each.
    fn spawn_workers(
        &mut self,
        threads: usize,
        limits: ConnectionLimits,
        trusted: &Arc<[Network]>,
        connections: &OpenConnections,
        stopped: &watch::Receiver<bool>,
    ) -> io::Result<Vec<mpsc::UnboundedSender<Incoming<Protocol>>>> {
        let exit = Arc::new(Barrier::new(threads));
        let mut workers = Vec::new();
        for id in 0..threads {
            let (sender, incoming) = mpsc::unbounded_channel();
            let (engine, exit) = (Arc::clone(&self.engine), Arc::clone(&exit));
            let (connections, stopped) = (connections.clone(), stopped.clone());
            let trusted = Arc::clone(trusted);
            // The workers share the connection to a remote store.
            let first = (id == 0).then(|| Arc::clone(&engine));
            let last = Arc::clone(&engine);
            self.spawn("tollgate-worker", move || {
                let worker = Worker::new(id);
                let resp = resp::Service::new(Rc::clone(&worker), Arc::clone(&engine), limits.resp);
                let http = http::Service::new(
                    Rc::clone(&worker),
                    engine,
                    connections,
                    limits.http,
                    trusted,
                );
                let services = Rc::new(Services { resp, http });
                let serve = move |incoming| Rc::clone(&services).serve(incoming);
                async move {
                    if let Some(engine) = first {
                        tokio::task::spawn_local(async move { engine.watch().await });
                    }
                    let finish = async |deadline| last.flush(deadline).await;
                    worker.run(incoming, stopped, exit, serve, finish).await;
                }
            })?;
            workers.push(sender);
        }
        Ok(workers)
    }

    /// Runs a future on a thread of its own. Returns when its runtime has started.
    fn spawn<W: Future<Output = ()>>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> W + Send + 'static,
    ) -> io::Result<()> {
        let (started, wait) = std::sync::mpsc::channel();
        let run = move || {
            let mut runtime = runtime::Builder::new_current_thread();
            match runtime.enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => {
                    let _ = started.send(Ok(()));
                    runtime.block_on(work());
                    // A name lookup that is still running must not keep the server from stopping.
                    runtime.shutdown_background();
                }
                Err(error) => drop(started.send(Err(error))),
            }
        };
        self.threads.push(thread::Builder::new().name(name.to_owned()).spawn(run)?);
        wait.recv().unwrap_or_else(|_| {
            Err(io::Error::other(format!("thread {name} exited during startup")))
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            // A panic was already printed by the thread itself.
            let _ = thread.join();
        }
    }
}

fn validate(policies: &[PolicyConfig]) -> io::Result<()> {
    let error = policies.iter().find_map(policies::check);
    error.map_or(Ok(()), |error| Err(io::Error::new(io::ErrorKind::InvalidInput, error)))
}
