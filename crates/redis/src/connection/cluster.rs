//! Redis Cluster: which node a key lives on, and following it when it moves.
//!
//! A node that answers with a redirection has done nothing, so the call goes to where it points. A call
//! that was sent and got no answer is never sent again. (The cluster client of redis-rs does that,
//! and sends a whole pipeline again if one command of it was redirected; both would count twice.)

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
use crate::connection::node::{Connector, Node, Sent};
use crate::connection::{bytes_of, command, in_full, is_unknown};
pub(crate) use slots::places;
use slots::{Address, Map, at, slot_of};

/// While a slot is between two nodes, or has none, it is tried again after this long.
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) struct Cluster {
    /// Where to ask when nobody else is known.
    seeds: Vec<ConnectionInfo>,
    config: AsyncConnectionConfig,
    /// How long a call may look for its node.
    deadline: Duration,
    nodes: RwLock<HashMap<Address, Arc<Node>>>,
    map: RwLock<Arc<Map>>,
    /// Held by whoever draws the map anew; when that was done last, and how it went.
    drawing: Mutex<Option<(Instant, Result<(), RedisError>)>>,
}

/// Where a call goes next.
enum Route {
    /// To the node that has its slot.
    ToOwner,
    /// Where it was told.
    To(Address),
    /// Where it was told, and it must say that it was.
    Asking(Address),
}

struct Routed<'c> {
    call: &'c Call,
    route: Route,
    whole: bool,
    answer: Option<Result<Value, RedisError>>,
    /// Why it was turned back last.
    last: Option<RedisError>,
}

/// What an answer calls for.
enum Next {
    Done,
    Go(Route),
    /// With the whole script.
    Whole,
    /// After a pause, and with a new map.
    Wait,
}

impl Cluster {
    pub(crate) fn new(
        seeds: Vec<ConnectionInfo>,
        config: AsyncConnectionConfig,
        deadline: Duration,
    ) -> Cluster {
        Cluster {
            seeds,
            config,
            deadline,
            nodes: RwLock::default(),
            map: RwLock::default(),
            drawing: Mutex::new(None),
        }
    }

    pub(crate) async fn send(&self, calls: &[Call]) -> Vec<Result<Vec<u8>, StoreError>> {
        if self.map().is_empty()
            && let Err(error) = self.refresh_slots(Instant::now()).await
        {
            return calls.iter().map(|_| Err(StoreError::unavailable(error.clone()))).collect();
        }
        // Those of one node travel together, and wait for no other: a node may be slow.
        let mut by_node: HashMap<Option<Address>, Vec<usize>> = HashMap::new();
        let map = self.map();
        for (place, call) in calls.iter().enumerate() {
            by_node.entry(Routed::new(call).address(&map)).or_default().push(place);
        }
        let groups = by_node.into_values().map(|places| async move {
            let routed = places.iter().filter_map(|place| calls.get(*place)).map(Routed::new);
            let answers = self.travel_on(routed.collect()).await;
            places.into_iter().zip(answers)
        });
        let answers = join_all(groups).await;
        let mut answers: Vec<_> = answers.into_iter().flatten().collect();
        answers.sort_by_key(|(place, _)| *place);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Follows calls until all have their answers, or it is too late.
    async fn travel_on(&self, mut routed: Vec<Routed<'_>>) -> Vec<Result<Vec<u8>, StoreError>> {
        let started = Instant::now();
        loop {
            let wait = self.travel(&mut routed).await;
            let under_way = routed.iter().any(|call| call.answer.is_none());
            if !under_way || started.elapsed() >= self.deadline {
                return routed.into_iter().map(Routed::result).collect();
            }
            if let Some(since) = wait {
                tokio::time::sleep(PAUSE).await;
                // What cannot be drawn now will be tried again, until it is too late.
                let _ = self.refresh_slots(since).await;
            }
        }
    }

    /// Sends each call that is under way to its next node. Answers since when the map is known to be
    /// wrong, if it is.
    async fn travel(&self, routed: &mut [Routed<'_>]) -> Option<Instant> {
        let started = Instant::now();
        let mut wrong = false;
        let mut by_node: HashMap<Address, Vec<usize>> = HashMap::new();
        let map = self.map();
        for (place, call) in first_of_each_key(routed) {
            match call.address(&map) {
                Some(address) => by_node.entry(address).or_default().push(place),
                None => wrong = true,
            }
        }
        let rides = by_node.into_iter().map(|(address, places)| {
            let riding = places.iter().filter_map(|place| routed.get(*place));
            let in_full = in_full(riding.clone().map(|call| call.call));
            let commands = riding.zip(in_full).flat_map(|(call, whole)| call.commands(whole));
            let commands: Vec<Cmd> = commands.collect();
            let node = self.node(&address);
            async move { (address, places, node.run(commands).await) }
        });
        for ((host, _), places, sent) in join_all(rides).await {
            wrong |= apply_replies(routed, places, sent, &host);
        }
        wrong.then_some(started)
    }

    fn map(&self) -> Arc<Map> {
        Arc::clone(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn node(&self, address: &Address) -> Arc<Node> {
        let known = self.nodes.read().unwrap_or_else(PoisonError::into_inner).get(address).cloned();
        known.unwrap_or_else(|| {
            let mut nodes = self.nodes.write().unwrap_or_else(PoisonError::into_inner);
            let node =
                || Arc::new(Node::new(self.connector(address), self.config.clone(), self.deadline));
            Arc::clone(nodes.entry(address.clone()).or_insert_with(node))
        })
    }

    /// A node is reached as the seeds are: with their password and their certificates.
    fn connector(&self, address: &Address) -> Connector {
        let seed = self.seeds.iter().find_map(|seed| at(seed, address));
        match seed.map(Client::open) {
            Some(Ok(client)) => Connector::At(Box::new(client)),
            _ => Connector::Nowhere,
        }
    }

    /// All primaries.
    pub(crate) async fn primaries(&self) -> Result<Vec<Arc<Node>>, RedisError> {
        self.refresh_slots(Instant::now()).await?;
        Ok(self.map().nodes().iter().map(|address| self.node(address)).collect())
    }

    /// Draws the map anew, unless someone has since.
    pub(crate) async fn refresh_slots(&self, since: Instant) -> Result<(), RedisError> {
        let mut drawn = self.drawing.lock().await;
        if let Some((when, result)) = &*drawn
            && *when > since
        {
            return result.clone();
        }
        // Each node has the deadline to answer. Whoever waits meanwhile gets the same result.
        let result = self.fetch_slots().await;
        *drawn = Some((Instant::now(), result.clone()));
        result
    }

    async fn fetch_slots(&self) -> Result<(), RedisError> {
        let mut addresses = self.map().nodes();
        addresses.extend(self.seeds.iter().filter_map(slots::address_of));
        let mut last =
            RedisError::from((redis::ErrorKind::Client, "no node of a cluster is known"));
        for address in addresses {
            match slots::ask(&self.node(&address), &address).await {
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

/// The routed that may go on: while a slot moves, a node may turn one call back and do the next one on
/// the same key, if they have different keys beside it. So of those only the first goes.
fn first_of_each_key<'t, 'c>(routed: &'t [Routed<'c>]) -> Vec<(usize, &'t Routed<'c>)> {
    let under_way = routed.iter().enumerate().filter(|(_, call)| call.answer.is_none());
    let mut ahead: HashMap<&[u8], &str> = HashMap::new();
    let mut first = Vec::new();
    for (place, call) in under_way {
        let script = call.call.script.sha.as_str();
        let free = |key: &Vec<u8>| ahead.get(key.as_slice()).is_none_or(|known| *known == script);
        let goes = call.call.keys.iter().all(free);
        if goes {
            first.push((place, call));
        }
        // Whoever comes behind one that waits must wait as well.
        let others = if goes { script } else { "" };
        ahead.extend(call.call.keys.iter().map(|key| (key.as_slice(), others)));
    }
    first
}

/// Takes in what the node at this host answered; whether the map turned out to be wrong.
fn apply_replies(routed: &mut [Routed<'_>], places: Vec<usize>, sent: Sent, host: &str) -> bool {
    let mut answers = match sent {
        Sent::Apply(answers) => answers.into_iter(),
        // Nothing was sent, so that it can be tried again somewhere else.
        Sent::Unsent(error) => {
            for place in places {
                if let Some(call) = routed.get_mut(place) {
                    call.turn_back(error.clone());
                }
            }
            return true;
        }
    };
    let mut wrong = false;
    for place in places {
        let Some(call) = routed.get_mut(place) else { continue };
        if let Route::Asking(_) = call.route {
            answers.next();
        }
        let missing = || Err((redis::ErrorKind::Parse, "an answer is missing").into());
        wrong |= call.hear(answers.next().unwrap_or_else(missing), host);
    }
    wrong
}

impl<'c> Routed<'c> {
    fn new(call: &'c Call) -> Routed<'c> {
        Routed { call, route: Route::ToOwner, whole: false, answer: None, last: None }
    }

    fn address(&self, map: &Map) -> Option<Address> {
        match &self.route {
            Route::ToOwner => map.owner(slot_of(self.call.keys.first()?)),
            Route::To(address) | Route::Asking(address) => Some(address.clone()),
        }
    }

    fn commands(&self, whole: bool) -> Vec<Cmd> {
        let call = command(self.call, self.whole || whole);
        match self.route {
            // The two must follow each other, which only one pipeline makes sure of.
            Route::Asking(_) => vec![redis::cmd("ASKING"), call],
            _ => vec![call],
        }
    }

    /// Whether the map turned out to be wrong.
    fn hear(&mut self, answer: Result<Value, RedisError>, host: &str) -> bool {
        match answer.as_ref().map_or_else(|error| next(error, host), |_| Next::Done) {
            Next::Done => self.answer = Some(answer),
            Next::Go(route) => {
                let moved = matches!(route, Route::To(_));
                self.route = route;
                self.last = answer.err();
                return moved;
            }
            Next::Whole => (self.whole, self.last) = (true, answer.err()),
            Next::Wait => {
                if let Err(error) = answer {
                    self.turn_back(error);
                }
                return true;
            }
        }
        false
    }

    fn turn_back(&mut self, error: RedisError) {
        (self.route, self.last) = (Route::ToOwner, Some(error));
    }

    fn result(self) -> Result<Vec<u8>, StoreError> {
        let lost = || StoreError::unavailable("no node had the key's slot in time");
        let answer = self.answer.or(self.last.map(Err));
        answer.map_or_else(|| Err(lost()), bytes_of)
    }
}

/// What an error of the node at this host calls for. All of these say that nothing was done.
fn next(error: &RedisError, host: &str) -> Next {
    let told = || {
        let (node, _) = error.redirect_node()?;
        slots::parse_address(node, host)
    };
    match error.kind() {
        redis::ErrorKind::Server(ServerErrorKind::Moved) => {
            told().map_or(Next::Wait, |address| Next::Go(Route::To(address)))
        }
        redis::ErrorKind::Server(ServerErrorKind::Ask) => {
            told().map_or(Next::Wait, |address| Next::Go(Route::Asking(address)))
        }
        redis::ErrorKind::Server(
            ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ReadOnly,
        ) => Next::Wait,
        _ if is_unknown(error) => Next::Whole,
        _ => Next::Done,
    }
}
