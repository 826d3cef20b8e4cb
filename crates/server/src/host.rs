//! Where connections live: who lets them in, and the thread that answers them.

pub(crate) mod acceptor;
pub(crate) mod connection_limit;
pub(crate) mod log_throttle;
pub(crate) mod pool;
pub(crate) mod transport;
pub(crate) mod worker;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{Barrier, mpsc, watch};
use tokio::task::JoinSet;

use crate::{http, resp};
use acceptor::{Incoming, Protocol};
use worker::Worker;

/// How long connections may take to finish when the server stops.
const STOPPING: Duration = Duration::from_secs(5);

/// Answers the connections that are sent here, until the server stops.
pub(crate) async fn host(
    worker: Rc<Worker>,
    mut room: mpsc::UnboundedReceiver<Incoming>,
    mut stopped: watch::Receiver<bool>,
    exit: Arc<Barrier>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(incoming) = room.recv() => {
                connections.spawn_local(serve_connection(incoming, Rc::clone(&worker)));
            }
            Some(_) = connections.join_next() => {}
            _ = stopped.wait_for(|stopped| *stopped) => break,
        }
    }
    worker.stop();
    let leaving = async {
        while connections.join_next().await.is_some() {}
        // Whoever leads to a far store may live here, and connections of others still need it.
        exit.wait().await;
    };
    let _ = tokio::time::timeout(STOPPING, leaving).await;
}

/// Answers one connection, which has its permit for as long.
async fn serve_connection(incoming: Incoming, worker: Rc<Worker>) {
    let Incoming { stream, number, protocol, permit } = incoming;
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    match protocol {
        Protocol::Resp => resp::connection::Connection::new(stream, number, worker).serve().await,
        Protocol::Http => http::connection::Connection::new(stream, number, worker).serve().await,
    }
    drop(permit);
}
