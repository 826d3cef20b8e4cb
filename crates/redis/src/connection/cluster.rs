//! Redis Cluster: sends each call to the node that owns its slot, and follows redirections.
//!
//! A node that replies with a redirection has done nothing, so the call goes to the node it names. A call
//! that was sent and got no reply is never sent again. (The cluster client of redis-rs does that, and
//! sends a whole pipeline again if one command of it was redirected; both would count twice.)

mod slots;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionInfo, RedisError, ServerErrorKind, Value,
};
use tokio::sync::Mutex;
use tollgate_core::StoreError;

use crate::call::Call;
use crate::connection::command::{command, is_unknown_script, reply_bytes, send_script};
use crate::connection::node::{self, Connector, Node, PipelineResult};
pub(crate) use slots::positions_by_slot;
use slots::{Address, SlotMap, slot_of, with_address};

/// Time between two attempts while a slot is moving between two nodes, or has no owner.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

pub(crate) struct Cluster {
    /// The nodes of the URL, which are asked while no other node is known.
    seeds: Vec<ConnectionInfo>,
    config: AsyncConnectionConfig,
    /// How long a call may look for the owner of its slot.
    timeout: Duration,
    nodes: RwLock<HashMap<Address, Arc<Node>>>,
    map: RwLock<Arc<SlotMap>>,
    /// Locked while the map is refreshed; when that was done last, and the result.
    last_refresh: Mutex<Option<(Instant, Result<(), RedisError>)>>,
}

/// The node that a call goes to next.
enum Route {
    /// The owner of its slot.
    Owner,
    /// The node that a redirection named.
    To(Address),
    /// The node that a redirection named, preceded by `ASKING`.
    Asking(Address),
}

struct Routed<'c> {
    call: &'c Call,
    route: Route,
    with_script: bool,
    reply: Option<Result<Value, RedisError>>,
    /// Why it could not be done so far.
    last_error: Option<RedisError>,
}

/// What a reply calls for.
enum Action {
    Done,
    Redirect(Route),
    /// Send it again with the whole script.
    SendScript,
    /// Send it again after a pause, by a new slot map.
    Retry,
}

impl Cluster {
    pub(crate) fn new(
        seeds: Vec<ConnectionInfo>,
        config: AsyncConnectionConfig,
        timeout: Duration,
    ) -> Cluster {
        Cluster {
            seeds,
            config,
            timeout,
            nodes: RwLock::default(),
            map: RwLock::default(),
            last_refresh: Mutex::new(None),
        }
    }

    pub(crate) async fn send(
        self: &Arc<Cluster>,
        calls: &[Call],
    ) -> Vec<Result<Vec<u8>, StoreError>> {
        if self.map().is_empty()
            && let Err(error) = self.refresh_slots(Instant::now()).await
        {
            return calls.iter().map(|_| Err(StoreError::unavailable(error.clone()))).collect();
        }
        // The calls of one node are sent together, and do not wait for another node, which may be slow.
        let mut by_node: HashMap<Option<Address>, Vec<usize>> = HashMap::new();
        let map = self.map();
        for (index, call) in calls.iter().enumerate() {
            by_node.entry(Routed::new(call).address(&map)).or_default().push(index);
        }
        let groups = by_node.into_values().map(|indexes| async move {
            let routed = indexes.iter().filter_map(|index| calls.get(*index)).map(Routed::new);
            let replies = self.send_until_done(routed.collect()).await;
            indexes.into_iter().zip(replies)
        });
        let replies = join_all(groups).await;
        let mut replies: Vec<_> = replies.into_iter().flatten().collect();
        replies.sort_by_key(|(index, _)| *index);
        replies.into_iter().map(|(_, reply)| reply).collect()
    }

    /// Sends calls, and follows redirections, until all have a reply or the time is over.
    async fn send_until_done(
        self: &Arc<Cluster>,
        mut routed: Vec<Routed<'_>>,
    ) -> Vec<Result<Vec<u8>, StoreError>> {
        let started = Instant::now();
        loop {
            let map_outdated = self.send_round(&mut routed).await;
            let pending = routed.iter().any(|call| call.reply.is_none());
            if !pending || started.elapsed() >= self.timeout {
                return routed.into_iter().map(Routed::result).collect();
            }
            if let Some(since) = map_outdated {
                tokio::time::sleep(RETRY_PAUSE).await;
                // If this fails now, it is tried again until the time is over.
                let _ = self.refresh_slots(since).await;
            }
        }
    }

    /// Sends each pending call to its next node. Returns since when the slot map is known to be outdated,
    /// if it is.
    async fn send_round(&self, routed: &mut [Routed<'_>]) -> Option<Instant> {
        let started = Instant::now();
        let mut outdated = false;
        let mut by_node: HashMap<Address, Vec<usize>> = HashMap::new();
        let map = self.map();
        for (index, call) in first_of_each_key(routed) {
            match call.address(&map) {
                Some(address) => by_node.entry(address).or_default().push(index),
                None => outdated = true,
            }
        }
        let pipelines = by_node.into_iter().map(|(address, indexes)| {
            let sent = indexes.iter().filter_map(|index| routed.get(*index));
            let with_script = send_script(sent.clone().map(|call| call.call));
            let commands = sent.zip(with_script).flat_map(|(call, script)| call.commands(script));
            let commands: Vec<Cmd> = commands.collect();
            let node = self.node(&address);
            async move { (address, indexes, node.run(commands).await) }
        });
        for ((host, _), indexes, result) in join_all(pipelines).await {
            outdated |= apply_replies(routed, indexes, result, &host);
        }
        outdated.then_some(started)
    }

    fn map(&self) -> Arc<SlotMap> {
        Arc::clone(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn node(&self, address: &Address) -> Arc<Node> {
        let known = self.nodes.read().unwrap_or_else(PoisonError::into_inner).get(address).cloned();
        known.unwrap_or_else(|| {
            let mut nodes = self.nodes.write().unwrap_or_else(PoisonError::into_inner);
            let node =
                || Arc::new(Node::new(self.connector(address), self.config.clone(), self.timeout));
            Arc::clone(nodes.entry(address.clone()).or_insert_with(node))
        })
    }

    /// A node is reached with the password and the certificates of the seeds.
    fn connector(&self, address: &Address) -> Connector {
        let info = self.seeds.iter().find_map(|seed| with_address(seed, address));
        match info.map(Client::open) {
            Some(Ok(client)) => Connector::Address(Box::new(client)),
            _ => Connector::Invalid,
        }
    }

    /// Returns all primaries.
    pub(crate) async fn primaries(self: &Arc<Cluster>) -> Result<Vec<Arc<Node>>, RedisError> {
        self.refresh_slots(Instant::now()).await?;
        Ok(self.map().nodes().iter().map(|address| self.node(address)).collect())
    }

    /// Refreshes the slot map, unless another caller has done so since that instant. It goes on if the caller
    /// gives up: some nodes may not reply, and impatient callers would never get to the others.
    pub(crate) async fn refresh_slots(
        self: &Arc<Cluster>,
        since: Instant,
    ) -> Result<(), RedisError> {
        let cluster = Arc::clone(self);
        let refreshed = tokio::spawn(async move { cluster.refresh(since).await }).await;
        refreshed.unwrap_or_else(|_| Err(node::runtime_stopped()))
    }

    async fn refresh(&self, since: Instant) -> Result<(), RedisError> {
        let mut last_refresh = self.last_refresh.lock().await;
        if let Some((when, result)) = &*last_refresh
            && *when > since
        {
            return result.clone();
        }
        // Each node may take the whole timeout to reply. Callers that wait meanwhile get the same result.
        let result = self.fetch_slots().await;
        *last_refresh = Some((Instant::now(), result.clone()));
        result
    }

    async fn fetch_slots(&self) -> Result<(), RedisError> {
        let mut addresses = self.map().nodes();
        addresses.extend(self.seeds.iter().filter_map(slots::address_of));
        let mut last =
            RedisError::from((redis::ErrorKind::Client, "no node of the cluster is known"));
        for address in addresses {
            match slots::fetch(&self.node(&address), &address).await {
                Ok(map) => {
                    *self.map.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(map);
                    return Ok(());
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Returns the pending calls that may be sent. While a slot moves, a node may redirect one call and do the
/// next one on the same key, if they differ in their other keys. So of those only the first is sent.
fn first_of_each_key<'t, 'c>(routed: &'t [Routed<'c>]) -> Vec<(usize, &'t Routed<'c>)> {
    let pending = routed.iter().enumerate().filter(|(_, call)| call.reply.is_none());
    let mut earlier: HashMap<&[u8], &str> = HashMap::new();
    let mut first = Vec::new();
    for (index, call) in pending {
        let script = call.call.script.sha.as_str();
        let free = |key: &Vec<u8>| earlier.get(key.as_slice()).is_none_or(|other| *other == script);
        let is_sent = call.call.keys.iter().all(free);
        if is_sent {
            first.push((index, call));
        }
        // A call behind one that waits must wait as well.
        let script = if is_sent { script } else { "" };
        earlier.extend(call.call.keys.iter().map(|key| (key.as_slice(), script)));
    }
    first
}

/// Applies the replies of the node at this host. Returns whether the slot map turned out to be outdated.
fn apply_replies(
    routed: &mut [Routed<'_>],
    indexes: Vec<usize>,
    result: PipelineResult,
    host: &str,
) -> bool {
    let mut replies = match result {
        PipelineResult::Replies(replies) => replies.into_iter(),
        // Nothing was sent, so that another node can be tried.
        PipelineResult::NotSent(error) => {
            for index in indexes {
                if let Some(call) = routed.get_mut(index) {
                    call.retry_at_owner(error.clone());
                }
            }
            return true;
        }
    };
    let mut outdated = false;
    for index in indexes {
        let Some(call) = routed.get_mut(index) else { continue };
        if let Route::Asking(_) = call.route {
            replies.next();
        }
        let missing = || Err((redis::ErrorKind::Parse, "a reply is missing").into());
        outdated |= call.apply_reply(replies.next().unwrap_or_else(missing), host);
    }
    outdated
}

impl<'c> Routed<'c> {
    fn new(call: &'c Call) -> Routed<'c> {
        Routed { call, route: Route::Owner, with_script: false, reply: None, last_error: None }
    }

    fn address(&self, map: &SlotMap) -> Option<Address> {
        match &self.route {
            Route::Owner => map.owner(slot_of(self.call.keys.first()?)),
            Route::To(address) | Route::Asking(address) => Some(address.clone()),
        }
    }

    fn commands(&self, with_script: bool) -> Vec<Cmd> {
        let call = command(self.call, self.with_script || with_script);
        match self.route {
            // `ASKING` must directly precede the call, which only one pipeline ensures.
            Route::Asking(_) => vec![redis::cmd("ASKING"), call],
            _ => vec![call],
        }
    }

    /// Returns whether the slot map turned out to be outdated.
    fn apply_reply(&mut self, reply: Result<Value, RedisError>, host: &str) -> bool {
        match reply.as_ref().map_or_else(|error| action(error, host), |_| Action::Done) {
            Action::Done => self.reply = Some(reply),
            Action::Redirect(route) => {
                let moved = matches!(route, Route::To(_));
                self.route = route;
                self.last_error = reply.err();
                return moved;
            }
            Action::SendScript => (self.with_script, self.last_error) = (true, reply.err()),
            Action::Retry => {
                if let Err(error) = reply {
                    self.retry_at_owner(error);
                }
                return true;
            }
        }
        false
    }

    fn retry_at_owner(&mut self, error: RedisError) {
        (self.route, self.last_error) = (Route::Owner, Some(error));
    }

    fn result(self) -> Result<Vec<u8>, StoreError> {
        match (self.reply, self.last_error) {
            (Some(reply), _) => reply_bytes(reply),
            // Whatever would be sent again was not done.
            (None, Some(error)) => Err(StoreError::refused(error)),
            (None, None) => Err(StoreError::refused("no node owned the slot of the key in time")),
        }
    }
}

/// Returns what an error of the node at this host calls for. Whatever is sent again was not done.
fn action(error: &RedisError, host: &str) -> Action {
    let named = || {
        let (node, _) = error.redirect_node()?;
        slots::parse_address(node, host)
    };
    match error.kind() {
        redis::ErrorKind::Server(ServerErrorKind::Moved) => {
            named().map_or(Action::Retry, |address| Action::Redirect(Route::To(address)))
        }
        redis::ErrorKind::Server(ServerErrorKind::Ask) => {
            named().map_or(Action::Retry, |address| Action::Redirect(Route::Asking(address)))
        }
        redis::ErrorKind::Server(
            ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ReadOnly,
        ) => Action::Retry,
        _ if is_unknown_script(error) => Action::SendScript,
        _ => Action::Done,
    }
}
