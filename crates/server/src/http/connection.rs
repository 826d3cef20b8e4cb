//! What the parts of one connection share: what has happened on it, its bytes, and when its client is late.

pub(super) mod io;
pub(super) mod progress;
pub(super) mod watch;

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use super::response_body::Unsent;
use super::service::Service;
use progress::Progress;

/// What the parts of one connection share.
pub(super) struct Connection {
    pub(super) service: Rc<Service>,
    /// Whether the peer is on this machine or a trusted proxy: only such peers receive `Tollgate-Silenced`.
    pub(super) is_trusted: bool,
    pub(super) progress: Progress,
    /// What is not sent yet, over HTTP/2.
    pub(super) unsent: Option<Arc<Unsent>>,
}

impl Connection {
    pub(super) fn new(
        service: &Rc<Service>,
        peer: IpAddr,
        unsent: Option<Arc<Unsent>>,
    ) -> Connection {
        let (is_trusted, progress) = (service.trusts(peer), Progress::default());
        Connection { service: Rc::clone(service), is_trusted, progress, unsent }
    }
}
