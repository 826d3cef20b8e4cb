//! Accepts connections and hands them to the workers in turn.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use super::connection_limit::{ConnectionLimit, ConnectionPermit};
use crate::log_throttle::LogThrottle;

/// Length of the queue of connections that the kernel has not handed over yet: after a restart all
/// clients connect at once.
const BACKLOG: i32 = 1_024;
/// How long a connection may be silent before the kernel probes whether the client still exists.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// How long to wait after `accept` has failed: the process may be out of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// An accepted connection, and which protocol it speaks.
pub(crate) struct Incoming<P> {
    pub(crate) stream: StdStream,
    pub(crate) peer: IpAddr,
    /// Distinguishes the connection from all others of this server.
    pub(crate) number: u64,
    pub(crate) protocol: P,
    /// Counts the connection for as long as it is served.
    pub(crate) permit: ConnectionPermit,
}

/// Binds an address and listens on it.
pub(crate) fn listen(address: SocketAddr) -> io::Result<StdListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // A restarted server takes its address over while connections of the old one are still closing.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Accepts the connections of one protocol.
pub(crate) struct Acceptor<P> {
    pub(crate) protocol: P,
    pub(crate) limit: Arc<ConnectionLimit>,
    pub(crate) workers: Vec<mpsc::UnboundedSender<Incoming<P>>>,
    /// The last number given to a connection, of whatever protocol.
    pub(crate) numbers: Arc<AtomicU64>,
    /// What a client is sent that exceeds the limit: short enough to fit into an empty send buffer.
    pub(crate) refusal: &'static [u8],
}

impl<P: Copy + fmt::Display> Acceptor<P> {
    pub(crate) async fn accept(self, listener: StdListener, mut stopped: watch::Receiver<bool>) {
        let listener = match TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => return tracing::error!("cannot accept connections: {error}"),
        };
        let warnings = LogThrottle::default();
        for turn in 0_usize.. {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stopped.wait_for(|stopped| *stopped) => return,
            };
            match accepted {
                Ok((stream, peer)) => {
                    if !self.dispatch(stream, peer.ip(), turn) && warnings.is_time() {
                        let (protocol, peer) = (self.protocol, peer.ip());
                        tracing::warn!(%peer, %protocol, "connection limit reached");
                    }
                }
                // The client has given up meanwhile.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // Other connections may close meanwhile and free what is missing.
                Err(error) => {
                    if warnings.is_time() {
                        tracing::warn!("cannot accept connections for now: {error}");
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Hands the connection to a worker. Returns false if the limit is reached.
    fn dispatch(&self, stream: TcpStream, peer: IpAddr, turn: usize) -> bool {
        let Some(permit) = self.limit.acquire(peer) else {
            let _ = stream.try_write(self.refusal);
            return false;
        };
        let _ = stream.set_nodelay(true);
        // A client whose machine is gone never closes its connection, and would hold its permit for good.
        let _ =
            SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEP_ALIVE));
        let number = self.numbers.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let worker = turn % self.workers.len().max(1);
        if let (Ok(stream), Some(worker)) = (stream.into_std(), self.workers.get(worker)) {
            // It fails only if the worker has ended, and then so has the server.
            let _ = worker.send(Incoming { stream, peer, number, protocol: self.protocol, permit });
        }
        true
    }
}
