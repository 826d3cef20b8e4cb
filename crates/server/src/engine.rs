//! What stands behind every protocol: the policies by their names, and the store that counts.

pub(crate) mod ask;
pub(crate) mod kinds;
pub(crate) mod policies;
pub(crate) mod regime;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::{ArcSwap, Guard};
use smallvec::SmallVec;
use tollgate::{Clock, Fill, MemoryStore};
use tollgate_core::{Act, Answered, Decision, Item, Op, Span, Store, StoreError, Time};

use crate::config::PolicyConfig;
use crate::host::seats::Seats;
use crate::host::seldom::Seldom;
use crate::metrics::{Counts, Latency, Outcome, Reloads};
use ask::{Ask, Beside};
use policies::Policies;

/// What one operation was answered.
pub(crate) type Answer = Result<Decision, StoreError>;

/// One is by far the most common number of operations that come together.
pub(crate) type Answers = SmallVec<[Answer; 1]>;

/// Where states are kept.
pub(crate) struct Shelf {
    store: Arc<dyn Store>,
    /// The same, if it is in memory.
    memory: Option<Arc<MemoryStore>>,
    clock: Clock,
}

impl Shelf {
    pub(crate) fn memory(store: Arc<MemoryStore>) -> Shelf {
        let clock = store.clock().clone();
        Shelf { store: Arc::<MemoryStore>::clone(&store), memory: Some(store), clock }
    }

    pub(crate) fn far(store: Arc<dyn Store>) -> Shelf {
        Shelf { store, memory: None, clock: Clock::system() }
    }
}

/// The connections of each protocol.
#[derive(Debug, Default, Clone)]
pub(crate) struct Open {
    pub(crate) resp: Arc<Seats>,
    pub(crate) http: Arc<Seats>,
}

impl Open {
    /// Each with the name of its protocol.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &Seats)> {
        [("resp", &*self.resp), ("http", &*self.http)].into_iter()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("loops", &self.loops).finish_non_exhaustive()
    }
}

/// Answers operations, whatever protocol they came by.
pub(crate) struct Engine {
    shelf: Shelf,
    /// Whether the store could be reached when it was last asked.
    is_up: AtomicBool,
    /// When that was last told.
    reports: Seldom,
    policies: ArcSwap<Policies>,
    loops: usize,
    /// What became of operations that brought their limits along.
    pub(crate) travelling: Counts,
    pub(crate) latency: Latency,
    pub(crate) reloads: Reloads,
    pub(crate) open: Open,
}

impl Engine {
    pub(crate) fn new(shelf: Shelf, policies: Vec<PolicyConfig>, loops: usize) -> Engine {
        let policies = Policies::new(policies, &Policies::default(), loops);
        Engine {
            shelf,
            is_up: AtomicBool::new(true),
            reports: Seldom::default(),
            policies: ArcSwap::from_pointee(policies),
            loops,
            travelling: Counts::new(loops),
            latency: Latency::new(loops),
            reloads: Reloads::default(),
            open: Open::default(),
        }
    }

    /// The policies as they are now, and stay for whoever has asked.
    pub(crate) fn policies(&self) -> Guard<Arc<Policies>> {
        self.policies.load()
    }

    /// What time it is where states are kept, or here.
    pub(crate) fn now(&self) -> Time {
        self.shelf.clock.now()
    }

    /// How full the memory is, if that is where states are kept.
    pub(crate) fn fill(&self) -> Option<Fill> {
        self.shelf.memory.as_ref().map(|memory| memory.fill())
    }

    pub(crate) fn is_store_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// Puts other policies in the place of all there are, at once.
    pub(crate) fn set_policies(&self, policies: &[PolicyConfig]) {
        self.policies.rcu(|before| Policies::new(policies.iter().cloned(), before, self.loops));
    }

    /// Answers operations for one of the loops, in their order and in one call of the store.
    pub(crate) async fn answer<'o, 'a: 'o>(
        &self,
        place: usize,
        asks: impl Iterator<Item = &'o Ask<'a>> + Clone,
    ) -> Answers {
        let expected = asks.size_hint().1.unwrap_or_default();
        let mut items: SmallVec<[Item<'_>; 1]> = SmallVec::with_capacity(expected);
        // Candidates come after all that is asked, so that they can be cut off.
        let mut candidates: Vec<Beside<'_, '_>> = Vec::new();
        let mut asked = 0;
        for ask in asks.clone() {
            ask.items().for_each(|item| items.push(item));
            candidates.extend(ask.candidate());
            asked += 1;
        }
        if asked == 0 {
            return Answers::new();
        }
        items.extend(candidates.iter().flat_map(|candidate| candidate.items()));
        let mut left = items.as_slice();
        let mut take = |count| {
            let (own, others) = left.split_at_checked(count).unwrap_or_default();
            left = others;
            own
        };
        let mut ops: SmallVec<[Op<'_>; 1]> = SmallVec::with_capacity(asked);
        asks.clone().for_each(|ask| ops.push(ask.op(take(ask.len()))));
        ops.extend(candidates.iter().map(|candidate| candidate.op(take(candidate.len()))));
        let mut said: Answers = ops.iter().map(|_| Err(StoreError::unanswered())).collect();
        self.apply(place, &ops, &mut said).await;
        if !candidates.is_empty() {
            self.compare(place, asks.clone(), &said, asked);
            said.truncate(asked);
        }
        for (ask, answer) in asks.zip(&mut said) {
            self.settle(place, ask, answer);
        }
        said
    }

    /// Answers one operation, as [`answer`](Engine::answer) does many.
    pub(crate) async fn answer_alone(&self, place: usize, ask: &Ask<'_>) -> Answer {
        let mut answer = Err(StoreError::unanswered());
        if ask.candidate().is_some() {
            return self.answer(place, std::iter::once(ask)).await.pop().unwrap_or(answer);
        }
        let items: SmallVec<[Item<'_>; 1]> = ask.items().collect();
        self.apply(place, &[ask.op(&items)], std::slice::from_mut(&mut answer)).await;
        self.settle(place, ask, &mut answer);
        answer
    }

    async fn apply(&self, place: usize, ops: &[Op<'_>], out: &mut [Answer]) {
        let begin = self.latency.begin(place, self.shelf.memory.is_none());
        if let Answered::Later(later) = self.shelf.store.apply(ops, None, out) {
            later.await;
        }
        if let Some(begin) = begin {
            self.latency.add(place, begin.elapsed());
        }
        let is_up = !out.iter().any(|said| said.as_ref().is_err_and(StoreError::is_unavailable));
        if self.is_up.load(Ordering::Relaxed) != is_up {
            self.note(is_up, ops, out);
        }
    }

    /// Notes that the store is gone, or back; and tells it, but not too often where that changes all the
    /// time.
    #[cold]
    fn note(&self, is_up: bool, ops: &[Op<'_>], said: &[Answer]) {
        // What it need not be asked for says nothing of it.
        let is_of_store = |(op, said): (&Op<'_>, &Answer)| op.is_kept() && said.is_ok();
        if is_up && !ops.iter().zip(said).any(is_of_store) {
            return;
        }
        self.is_up.store(is_up, Ordering::Relaxed);
        match is_up {
            _ if !self.reports.is_time() => {}
            true => tracing::info!("the store answers again"),
            false => tracing::error!("the store does not answer"),
        }
    }

    /// Counts where candidates say otherwise.
    fn compare<'o, 'a: 'o>(
        &self,
        place: usize,
        asks: impl Iterator<Item = &'o Ask<'a>>,
        said: &[Answer],
        asked: usize,
    ) {
        let (own, beside) = said.split_at_checked(asked).unwrap_or_default();
        let pairs = asks.zip(own).filter(|(ask, _)| ask.candidate().is_some());
        for ((ask, own), beside) in pairs.zip(beside).filter(|((ask, _), _)| is_decision(ask)) {
            let (Ok(own), Ok(beside)) = (own, beside) else { continue };
            match (own.allowed, beside.allowed) {
                (true, false) => self.counts(ask).add(place, Outcome::Stricter),
                (false, true) => self.counts(ask).add(place, Outcome::Looser),
                _ => 0,
            };
        }
    }

    /// What the limits said becomes what is answered, and is counted.
    #[inline]
    fn settle(&self, place: usize, ask: &Ask<'_>, answer: &mut Answer) {
        let outcome = match answer {
            // That is the caller's mistake.
            Err(error) if error.is_overdrawn() || error.is_malformed() => return,
            Err(_) => Outcome::Failed,
            Ok(decision) if decision.allowed => Outcome::Allowed,
            Ok(_) if ask.is_enforced() => Outcome::Denied,
            Ok(decision) => {
                let_pass(decision);
                Outcome::Spared
            }
        };
        if !is_decision(ask) {
            return;
        }
        let times = self.counts(ask).add(place, outcome);
        // The first, the second, the fourth: a flood of denials is no flood of lines.
        if outcome == Outcome::Denied && times.is_power_of_two() {
            log_denial(ask, times);
        }
    }

    fn counts<'c>(&'c self, ask: &'c Ask<'_>) -> &'c Counts {
        ask.regime().map_or(&self.travelling, |regime| regime.counts().as_ref())
    }
}

/// Whether someone is let pass or turned away; only this is counted.
fn is_decision(ask: &Ask<'_>) -> bool {
    matches!(ask.act(), Act::Check | Act::Reserve)
}

/// Whom it was that is not told: keys are people.
#[cold]
fn log_denial(ask: &Ask<'_>, times: u64) {
    tracing::info!(policy = ask.policy().as_str(), denied = times, "turned away");
}

/// Whoever is not to be turned away may pass, and has nothing to wait for.
#[cold]
fn let_pass(decision: &mut Decision) {
    decision.allowed = true;
    decision.retry_after = Some(Span::ZERO);
}
