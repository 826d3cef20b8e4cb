//! Who lets clients in, and shows them to their threads in turn.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use crate::host::connection_limit::{ConnectionLimit, ConnectionPermit, MaxConnections};
use crate::host::log_throttle::LogThrottle;

/// How many may wait to be let in: after a restart all clients come at once.
const WAITING: i32 = 1_024;
/// After how long a client that says nothing is asked whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// How long nobody is accepted after that went wrong: there may be no file descriptors left.
const PAUSE: Duration = Duration::from_millis(50);

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Resp,
    Http,
}

impl Protocol {
    /// What whoever finds no place is told: as much as fits into an empty connection.
    fn refusal(self) -> &'static [u8] {
        match self {
            Protocol::Resp => b"-ERR max number of clients reached\r\n",
            Protocol::Http => {
                b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            }
        }
    }
}

/// Someone who has come.
pub(crate) struct Incoming {
    pub(crate) stream: StdStream,
    /// Tells the connection from all others.
    pub(crate) number: u64,
    pub(crate) protocol: Protocol,
    pub(crate) permit: ConnectionPermit,
}

/// Listens at an address.
pub(crate) fn listen(address: SocketAddr) -> io::Result<StdListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // A server that is started again takes over its address, though old connections are not gone yet.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(WAITING)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Lets clients of one protocol in.
pub(crate) struct Acceptor {
    pub(crate) limit: Arc<ConnectionLimit>,
    pub(crate) doors: Vec<mpsc::UnboundedSender<Incoming>>,
    pub(crate) protocol: Protocol,
    /// The last number that was given to a connection, of whatever protocol.
    pub(crate) numbers: Arc<AtomicU64>,
    /// How many there may be at once.
    pub(crate) most: MaxConnections,
}

impl Acceptor {
    pub(crate) async fn accept(self, listener: StdListener, mut stopped: watch::Receiver<bool>) {
        let listener = match TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => return tracing::error!("nobody can be let in: {error}"),
        };
        let complaints = LogThrottle::default();
        for turn in 0_usize.. {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stopped.wait_for(|stopped| *stopped) => return,
            };
            match accepted {
                Ok((stream, peer)) => {
                    if !self.dispatch(stream, peer.ip(), turn) && complaints.is_time() {
                        let (protocol, peer) = (self.protocol, peer.ip());
                        tracing::warn!(%peer, "no place for more connections of {protocol:?}");
                    }
                }
                // Only this one has changed its mind.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // Others are served meanwhile, and leave what is missing.
                Err(error) => {
                    if complaints.is_time() {
                        tracing::warn!("nobody can be let in for a moment: {error}");
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Whether there was a place.
    fn dispatch(&self, stream: TcpStream, peer: IpAddr, turn: usize) -> bool {
        let Some(permit) = self.limit.take(peer, self.most) else {
            let _ = stream.try_write(self.protocol.refusal());
            return false;
        };
        let _ = stream.set_nodelay(true);
        // A client whose machine has gone says nothing, and would keep its place for good.
        let _ =
            SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEP_ALIVE));
        let number = self.numbers.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let door = turn % self.doors.len().max(1);
        if let (Ok(stream), Some(door)) = (stream.into_std(), self.doors.get(door)) {
            // If the loop has ended, so has the server.
            let _ = door.send(Incoming { stream, number, protocol: self.protocol, permit });
        }
        true
    }
}
