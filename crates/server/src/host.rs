//! Where connections live: who lets them in, and the thread that answers them.

pub(crate) mod event_loop;
pub(crate) mod pool;
pub(crate) mod porter;
pub(crate) mod seats;
pub(crate) mod seldom;
pub(crate) mod wire;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{Barrier, mpsc, watch};
use tokio::task::JoinSet;

use crate::{http, resp};
use event_loop::Loop;
use porter::{Guest, Protocol};

/// How long connections may take to finish when the server stops.
const STOPPING: Duration = Duration::from_secs(5);

/// Answers the connections that are sent here, until the server stops.
pub(crate) async fn host(
    home: Rc<Loop>,
    mut room: mpsc::UnboundedReceiver<Guest>,
    mut stopped: watch::Receiver<bool>,
    exit: Arc<Barrier>,
) {
    let mut guests = JoinSet::new();
    loop {
        tokio::select! {
            Some(guest) = room.recv() => {
                guests.spawn_local(entertain(guest, Rc::clone(&home)));
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

/// Answers one connection, which has its seat for as long.
async fn entertain(guest: Guest, home: Rc<Loop>) {
    let Guest { stream, number, protocol, seat } = guest;
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    match protocol {
        Protocol::Resp => resp::connection::Connection::new(stream, number, home).serve().await,
        Protocol::Http => http::connection::Connection::new(stream, number, home).serve().await,
    }
    drop(seat);
}
