//! The server: threads with an event loop each, and who accepts for them.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{self, LocalOptions};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tollgate::MemoryStore;
use tollgate_core::{Policy, Store};

use crate::bounds::RespBounds;
use crate::engine::{Engine, Policies};
use crate::event_loop::Loop;
use crate::resp::connection::Connection;

/// How long connections may take to finish when the server stops.
const STOPPING: Duration = Duration::from_secs(5);
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
        self.bounds = bounds;
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// If an address is taken, or a thread cannot be started.
    pub fn start(self) -> io::Result<Server> {
        let store = self.store.unwrap_or_else(|| Arc::<MemoryStore>::default());
        let engine = Arc::new(Engine::new(store, Policies::new(self.policies)));
        let listener = self.resp.map(listen).transpose()?;
        let resp = listener.as_ref().map(StdListener::local_addr).transpose()?;
        let (stop, stopped) = watch::channel(false);
        let (doors, rooms): (Vec<_>, Vec<_>) =
            (0..self.loops).map(|_| mpsc::unbounded_channel()).unzip();
        let mut server = Server { resp, stop, threads: Vec::new() };
        for room in rooms {
            let (engine, bounds, stopped) = (Arc::clone(&engine), self.bounds, stopped.clone());
            let host = move || run(host(Loop::new(engine, bounds), room, stopped));
            server.threads.push(thread::Builder::new().name("tollgate-loop".into()).spawn(host)?);
        }
        if let Some(listener) = listener {
            let porter = Porter { doors, open: Arc::default(), most: self.bounds.connections };
            let accept = move || run(porter.accept(listener, stopped));
            server
                .threads
                .push(thread::Builder::new().name("tollgate-accept".into()).spawn(accept)?);
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

/// Runs something on this thread.
fn run(work: impl Future<Output = ()>) {
    let mut runtime = runtime::Builder::new_current_thread();
    match runtime.enable_all().build_local(LocalOptions::default()) {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => eprintln!("tollgate: a thread cannot wait for its connections: {error}"),
    }
}

/// A connection, and its number.
type Guest = (StdStream, u64, Seat);

/// Answers the connections that are sent here, until the server stops.
async fn host(
    home: Rc<Loop>,
    mut room: mpsc::UnboundedReceiver<Guest>,
    mut stopped: watch::Receiver<bool>,
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
    let _ =
        tokio::time::timeout(STOPPING, async { while guests.join_next().await.is_some() {} }).await;
}

/// Lets clients in, and shows them to their loops in turn.
struct Porter {
    doors: Vec<mpsc::UnboundedSender<Guest>>,
    open: Arc<AtomicUsize>,
    most: usize,
}

/// A place that is free again when this is dropped.
struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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
                // Others are served meanwhile, and leave what is missing.
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    fn show_in(&self, stream: TcpStream, number: u64) {
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.most {
            let seat = Seat(Arc::clone(&self.open));
            // As much as fits into an empty connection.
            let _ = stream.try_write(b"-ERR max number of clients reached\r\n");
            return drop(seat);
        }
        let seat = Seat(Arc::clone(&self.open));
        let _ = stream.set_nodelay(true);
        let door = usize::try_from(number).unwrap_or(0) % self.doors.len().max(1);
        if let (Ok(stream), Some(door)) = (stream.into_std(), self.doors.get(door)) {
            // If the loop has ended, so has the server.
            let _ = door.send((stream, number, seat));
        }
    }
}
