//! A burst, a wait and a recovery, drawn in the terminal by the engine itself.

use std::fmt;

use anstyle::{AnsiColor, Style};
use tollgate_core::{
    Act, Decision, Key, Limit, MAX_COST, Name, Op, PlainStore, Policy, Span, Time,
};

/// How many columns a full key takes to reset.
const RESET: u64 = 32;
/// In which columns a client asks for all it can get.
const BURSTS: [u64; 3] = [3, 19, 37];
/// Enough for the last burst to reset.
const WIDTH: u64 = 70;
/// Rows of the picture; each has eight steps.
const HEIGHT: u64 = 4;
/// Midnight on a Monday that begins a year: every window begins here.
const START: u64 = 1_704_067_200_000_000;

const WATER: Style = AnsiColor::Cyan.on_default();
const MARK: Style = AnsiColor::Yellow.on_default().bold();

/// How full a key is over time.
#[derive(Debug, Clone)]
pub struct Timeline {
    capacity: u64,
    /// How long one column lasts.
    column: Span,
    /// What is used at the start of each column, after a burst in it.
    used: Vec<u64>,
    bursts: Vec<Burst>,
}

#[derive(Debug, Clone, Copy)]
struct Burst {
    column: u64,
    passed: u64,
    /// How long the next request would have to wait.
    wait: Option<Span>,
    reset: Span,
}

/// One key of its own store.
struct Client {
    store: PlainStore,
    policy: Policy,
}

impl Client {
    fn ask(&self, act: Act, cost: u64, at: Time) -> Option<Decision> {
        let items = self.policy.items(|_| Key::new(b"-").ok()).ok()?;
        let op = Op { policy: self.policy.name(), items: &items, act, cost, id: None };
        self.store.apply_one(&op, at).ok()
    }

    /// Takes all there is.
    fn burst(&self, column: u64, at: Time) -> Option<Burst> {
        let passed = self.ask(Act::Peek, 1, at)?.remaining?.min(MAX_COST);
        self.ask(Act::Check, passed, at)?;
        let left = self.ask(Act::Peek, 1, at)?;
        Some(Burst { column, passed, wait: left.retry_after, reset: left.reset_after })
    }
}

impl Timeline {
    /// The timeline of one limit; `None` if it is unlimited.
    #[must_use]
    pub fn new(limit: &Limit) -> Option<Timeline> {
        let (capacity, drain) = limit.capacity().zip(limit.full_reset_after())?;
        let column = Span::from_micros(drain.as_micros().div_ceil(RESET).max(1));
        let policy = Policy::new(Name::default(), vec![limit.clone()]);
        let client = Client { store: PlainStore::default(), policy };
        let (mut used, mut bursts) = (Vec::new(), Vec::new());
        for place in 0..WIDTH {
            let since = column.as_micros().saturating_mul(place);
            let at = Time::from_micros(START.saturating_add(since))?;
            if BURSTS.contains(&place) {
                bursts.push(client.burst(place, at)?);
            }
            let left = client.ask(Act::Peek, 1, at)?.remaining?;
            used.push(capacity.saturating_sub(left));
        }
        Some(Timeline { capacity, column, used, bursts })
    }

    fn time_of(&self, column: u64) -> Span {
        let first = BURSTS.first().copied().unwrap_or(0);
        Span::from_micros(self.column.as_micros().saturating_mul(column.saturating_sub(first)))
    }

    /// One row of the picture, counted from the bottom.
    fn row(&self, row: u64) -> String {
        const STEPS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let block = |used: &u64| {
            let all = u128::from(HEIGHT * 8) * u128::from(*used);
            let eighths = all.div_ceil(u128::from(self.capacity.max(1)));
            let above = eighths.saturating_sub(u128::from(row * 8)).min(8);
            usize::try_from(above).ok().and_then(|step| STEPS.get(step)).copied().unwrap_or(' ')
        };
        let row: String = self.used.iter().map(block).collect();
        row.trim_end().to_owned()
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let top = self.capacity.to_string();
        let width = top.len().max(1);
        for row in (0..HEIGHT).rev() {
            let label = if row == HEIGHT - 1 { top.as_str() } else { "" };
            writeln!(f, "  {label:>width$} ┤{WATER}{}{WATER:#}", self.row(row))?;
        }
        let axis: String =
            (0..WIDTH).map(|c| if BURSTS.contains(&c) { '┴' } else { '─' }).collect();
        writeln!(f, "  {:>width$} └{axis}", 0)?;
        let places = (0..WIDTH).map(|column| BURSTS.iter().position(|burst| *burst == column));
        let marks: String = places
            .map(|place| {
                place.map_or(' ', |place| {
                    char::from(b'a'.saturating_add(u8::try_from(place).unwrap_or(0)))
                })
            })
            .collect();
        writeln!(f, "  {:>width$}  {MARK}{}{MARK:#}", "", marks.trim_end())?;
        for (burst, mark) in self.bursts.iter().zip('a'..) {
            let when = self.time_of(burst.column);
            let wait = match burst.wait {
                Some(wait) if wait > Span::ZERO => format!("; the next must wait {wait}"),
                _ => String::new(),
            };
            writeln!(f, "  {MARK}{mark}{MARK:#} after {when}: {} pass{wait}", burst.passed)?;
        }
        let last = self.bursts.last();
        let reset = last.map_or(Span::ZERO, |burst| burst.reset);
        write!(f, "  then, if nobody comes, the key is as new after {reset}")
    }
}
