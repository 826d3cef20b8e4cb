//! The server: threads with an event loop each, and who accepts for them.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{self, LocalOptions};
use tokio::sync::{Barrier, mpsc, watch};
use tokio::task::JoinSet;
use tollgate::MemoryStore;
use tollgate_core::{Policy, Store};

use crate::bounds::RespBounds;
use crate::engine::{Engine, Policies};
use crate::event_loop::Loop;
use crate::resp;
use crate::resp::connection::Connection;

/// How long connections may take to finish when the server stops.
const STOPPING: Duration = Duration::from_secs(5);
/// After how long a client that says nothing is asked whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// How long nobody is accepted after that went wrong: there may be no file descriptors left.
const PAUSE: Duration = Duration::from_millis(50);

/// A server about to be started.
#[must_use = "a builder does nothing until it starts"]
pub struct Builder {
    store: Option<Arc<dyn Store>>,
    policies: Vec<Policy>,
    resp: Option<SocketAddr>,
    loops: usize,
    bounds: RespBounds,
}

/// A server that runs, until it is stopped or dropped.
#[derive(Debug)]
pub struct Server {
    resp: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl Builder {
    /// Where state is kept: in a memory store of its own, if not said.
    pub fn store(mut self, store: Arc<dyn Store>) -> Builder {
        self.store = Some(store);
        self
    }

    /// A policy that can be asked for by its name. One of the same name takes its place.
    pub fn policy(mut self, policy: Policy) -> Builder {
        self.policies.push(policy);
        self
    }

    /// Where the Redis protocol is spoken: nowhere, if not said.
    pub fn resp(mut self, address: SocketAddr) -> Builder {
        self.resp = Some(address);
        self
    }

    /// How many threads share the connections: as many as there are processors, if not said.
    pub fn loops(mut self, loops: usize) -> Builder {
        self.loops = loops.max(1);
        self
    }

    /// What clients of the Redis protocol may send, if not the [default](RespBounds::default).
    pub fn resp_bounds(mut self, bounds: RespBounds) -> Builder {
        self.bounds = bounds.at_least_one();
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// If an address is taken, a thread cannot be started, or a policy is called `cl.throttle`, which
    /// is what the limits of that command count under.
    pub fn start(self) -> io::Result<Server> {
        if self.policies.iter().any(|policy| policy.name().as_str() == resp::NAME) {
            let why = format!("a policy cannot be called {}", resp::NAME);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let store = self.store.unwrap_or_else(|| Arc::<MemoryStore>::default());
        let engine = Arc::new(Engine::new(store, Policies::new(self.policies)));
        let listener = self.resp.map(listen).transpose()?;
        let resp = listener.as_ref().map(StdListener::local_addr).transpose()?;
        let (stop, stopped) = watch::channel(false);
        let (doors, rooms): (Vec<_>, Vec<_>) =
            (0..self.loops).map(|_| mpsc::unbounded_channel()).unzip();
        let mut server = Server { resp, stop, threads: Vec::new() };
        let exit = Arc::new(Barrier::new(self.loops));
        for room in rooms {
            let (engine, bounds, exit) = (Arc::clone(&engine), self.bounds, Arc::clone(&exit));
            let stopped = stopped.clone();
            server.spawn("tollgate-loop", move || {
                host(Loop::new(engine, bounds), room, stopped, exit)
            })?;
        }
        if let Some(listener) = listener {
            let porter = Porter { doors, open: Arc::default(), most: self.bounds.connections };
            server.spawn("tollgate-accept", move || porter.accept(listener, stopped))?;
        }
        Ok(server)
    }
}

impl Server {
    /// A server to be described.
    pub fn builder() -> Builder {
        Builder {
            store: None,
            policies: Vec::new(),
            resp: None,
            loops: thread::available_parallelism().map_or(1, usize::from),
            bounds: RespBounds::default(),
        }
    }

    /// Where the Redis protocol is spoken.
    #[must_use]
    pub fn resp(&self) -> Option<SocketAddr> {
        self.resp
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

/// How many may wait to be let in: after a restart all clients come at once.
const WAITING: i32 = 1_024;

fn listen(address: SocketAddr) -> io::Result<StdListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // A server that is started again takes over its address, though old connections are not gone yet.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(WAITING)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// A connection, its number, and its place among those that there may be.
type Guest = (StdStream, u64, Seat);

/// Answers the connections that are sent here, until the server stops.
async fn host(
    home: Rc<Loop>,
    mut room: mpsc::UnboundedReceiver<Guest>,
    mut stopped: watch::Receiver<bool>,
    exit: Arc<Barrier>,
) {
    let mut guests = JoinSet::new();
    loop {
        tokio::select! {
            Some((stream, number, seat)) = room.recv() => {
                if let Ok(stream) = TcpStream::from_std(stream) {
                    let connection = Connection::new(stream, number, Rc::clone(&home));
                    guests.spawn_local(async move {
                        connection.serve().await;
                        drop(seat);
                    });
                }
            }
            Some(_) = guests.join_next() => {}
            _ = stopped.wait_for(|stopped| *stopped) => break,
        }
    }
    home.stop();
    let leaving = async {
        while guests.join_next().await.is_some() {}
        // Whoever leads to a far store may live here, and guests of others still need it.
        exit.wait().await;
    };
    let _ = tokio::time::timeout(STOPPING, leaving).await;
}

/// Lets clients in, and shows them to their loops in turn.
struct Porter {
    doors: Vec<mpsc::UnboundedSender<Guest>>,
    open: Arc<AtomicUsize>,
    most: usize,
}

/// A place that is free again when this is dropped.
struct Seat {
    open: Arc<AtomicUsize>,
    /// How many were taken before.
    before: usize,
}

impl Seat {
    fn take(open: &Arc<AtomicUsize>) -> Seat {
        Seat { before: open.fetch_add(1, Ordering::Relaxed), open: Arc::clone(open) }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Porter {
    async fn accept(self, listener: StdListener, mut stopped: watch::Receiver<bool>) {
        let listener = match TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => return eprintln!("tollgate: nobody can be let in: {error}"),
        };
        for number in 1_u64.. {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stopped.wait_for(|stopped| *stopped) => return,
            };
            match accepted {
                Ok((stream, _)) => self.show_in(stream, number),
                // Only this one has changed its mind.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // Others are served meanwhile, and leave what is missing.
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    fn show_in(&self, stream: TcpStream, number: u64) {
        let seat = Seat::take(&self.open);
        if seat.before >= self.most {
            // As much as fits into an empty connection.
            let _ = stream.try_write(b"-ERR max number of clients reached\r\n");
            return;
        }
        let _ = stream.set_nodelay(true);
        // A client whose machine has gone says nothing, and would keep its place for good.
        let _ =
            SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEP_ALIVE));
        let door = usize::try_from(number).unwrap_or(0) % self.doors.len().max(1);
        if let (Ok(stream), Some(door)) = (stream.into_std(), self.doors.get(door)) {
            // If the loop has ended, so has the server.
            let _ = door.send((stream, number, seat));
        }
    }
}
