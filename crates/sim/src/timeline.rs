//! Bursts, waits and recovery over time, drawn for a terminal from real decisions.

use std::fmt;

use anstyle::{AnsiColor, Style};
use tollgate_core::{
    Act, Decision, Limit, MAX_COST, Name, PlainStore, Policy, Request, Span, Time,
};

/// Number of columns in which a full key resets.
const RESET_COLUMNS: u64 = 32;
/// Columns in which the client takes all that remains.
const BURSTS: [u64; 3] = [3, 19, 37];
/// Width of the picture: the last burst can reset within it.
const WIDTH: u64 = 70;
/// Number of rows of the picture. Each row has eight levels.
const HEIGHT: u64 = 4;
/// Midnight on a Monday, 1 January: windows of every length begin here.
const START: u64 = 1_704_067_200_000_000;

const LEVEL: Style = AnsiColor::Cyan.on_default();
const MARK: Style = AnsiColor::Yellow.on_default().bold();

/// The level of a key over time, as a picture.
#[derive(Debug, Clone)]
pub struct Timeline {
    capacity: u64,
    /// Duration of one column.
    column: Span,
    /// Used quota at the start of each column, after its burst if it has one.
    used: Vec<u64>,
    bursts: Vec<Burst>,
}

#[derive(Debug, Clone, Copy)]
struct Burst {
    column: u64,
    allowed: u64,
    /// How long the next request has to wait.
    wait: Option<Span>,
    reset: Span,
}

/// A client with a store of its own.
struct Client {
    store: PlainStore,
    policy: Policy,
}

impl Client {
    fn apply(&self, act: Act, cost: u64, at: Time) -> Option<Decision> {
        let limit = self.policy.limits().first()?;
        let request = Request::new().subject(limit.per().map_or("", Name::as_str), "-");
        let request = match limit.unit() {
            Some(unit) => request.cost_of(unit.as_str(), cost),
            None => request.cost(cost),
        };
        request.with_op(&self.policy, act, |op| self.store.apply_one(op, at)).ok()?.ok()
    }

    /// Takes all that remains.
    fn burst(&self, column: u64, at: Time) -> Option<Burst> {
        let allowed = self.apply(Act::Peek, 1, at)?.remaining?.min(MAX_COST);
        let _taken = self.apply(Act::Check, allowed, at)?;
        let after = self.apply(Act::Peek, 1, at)?;
        Some(Burst { column, allowed, wait: after.retry_after, reset: after.reset_after })
    }
}

impl Timeline {
    /// Creates the timeline of a limit. Returns `None` if it is unlimited.
    #[must_use]
    pub fn new(limit: &Limit) -> Option<Timeline> {
        let (capacity, reset) = limit.capacity().zip(limit.full_reset_after())?;
        let column = Span::from_micros(reset.as_micros().div_ceil(RESET_COLUMNS).max(1));
        let policy = Policy::new(Name::default(), vec![limit.clone()]);
        let client = Client { store: PlainStore::default(), policy };
        let (mut used, mut bursts) = (Vec::new(), Vec::new());
        for index in 0..WIDTH {
            let since = column.as_micros().saturating_mul(index);
            let at = Time::from_micros(START.saturating_add(since))?;
            if BURSTS.contains(&index) {
                bursts.push(client.burst(index, at)?);
            }
            let remaining = client.apply(Act::Peek, 1, at)?.remaining?;
            used.push(capacity.saturating_sub(remaining));
        }
        Some(Timeline { capacity, column, used, bursts })
    }

    fn time_of(&self, column: u64) -> Span {
        let first = BURSTS.first().copied().unwrap_or(0);
        Span::from_micros(self.column.as_micros().saturating_mul(column.saturating_sub(first)))
    }

    /// Returns one row of the picture, counted from the bottom.
    fn row(&self, row: u64) -> String {
        const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let block = |used: &u64| {
            let all = u128::from(HEIGHT * 8) * u128::from(*used);
            let eighths = all.div_ceil(u128::from(self.capacity.max(1)));
            let above = eighths.saturating_sub(u128::from(row * 8)).min(8);
            usize::try_from(above).ok().and_then(|level| BLOCKS.get(level)).copied().unwrap_or(' ')
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
            writeln!(f, "  {label:>width$} ┤{LEVEL}{}{LEVEL:#}", self.row(row))?;
        }
        let axis: String =
            (0..WIDTH).map(|c| if BURSTS.contains(&c) { '┴' } else { '─' }).collect();
        writeln!(f, "  {:>width$} └{axis}", 0)?;
        let bursts = (0..WIDTH).map(|column| BURSTS.iter().position(|burst| *burst == column));
        let marks: String = bursts
            .map(|burst| {
                burst.map_or(' ', |index| {
                    char::from(b'a'.saturating_add(u8::try_from(index).unwrap_or(0)))
                })
            })
            .collect();
        writeln!(f, "  {:>width$}  {MARK}{}{MARK:#}", "", marks.trim_end())?;
        for (burst, mark) in self.bursts.iter().zip('a'..) {
            let when = self.time_of(burst.column);
            let wait = match burst.wait {
                Some(wait) if wait > Span::ZERO => format!("; the next one must wait {wait}"),
                _ => String::new(),
            };
            writeln!(f, "  {MARK}{mark}{MARK:#} after {when}: {} allowed{wait}", burst.allowed)?;
        }
        let last = self.bursts.last();
        let reset = last.map_or(Span::ZERO, |burst| burst.reset);
        write!(f, "  With no further requests, the key is fully reset {reset} after that.")
    }
}
