//! Window (fixed-window, request-window): one counter for the window that is open.

use crate::Window;
use crate::counting::{Change, Counting, Event, Id, MAX_COUNT};

pub(crate) struct OneWindow<'a> {
    n: u64,
    opening: Opening<'a>,
    open: Option<OpenWindow>,
}

/// Defines where a window begins.
enum Opening<'a> {
    Clock(u64),
    Calendar(&'a [u64]),
    FirstRequest(u64),
}

/// From `start` to just before `end`, `count` above 0.
#[derive(Clone, Copy)]
struct OpenWindow {
    start: u64,
    end: u64,
    count: u64,
}

impl OpenWindow {
    fn contains(&self, t: u64) -> bool {
        (self.start..self.end).contains(&t)
    }
}

impl<'a> OneWindow<'a> {
    pub fn fixed(n: u64, window: &'a Window) -> OneWindow<'a> {
        let opening = match window {
            Window::Plain(length) => Opening::Clock(*length),
            Window::Boundaries(starts) => Opening::Calendar(starts),
        };
        OneWindow { n, opening, open: None }
    }

    pub fn request(n: u64, window: u64) -> OneWindow<'a> {
        OneWindow { n, opening: Opening::FirstRequest(window), open: None }
    }

    /// Returns the window that an operation at `t` opens, with a count of 0.
    fn opened_at(&self, t: u64) -> OpenWindow {
        let (start, end) = match self.opening {
            Opening::Clock(length) => (t - t % length, t - t % length + length),
            Opening::Calendar(starts) => {
                let next = starts.partition_point(|&start| start <= t);
                (next.checked_sub(1).map_or(0, |i| starts[i]), starts[next])
            }
            Opening::FirstRequest(length) => (t, t + length),
        };
        OpenWindow { start, end, count: 0 }
    }

    fn open_at(&self, t: u64) -> Option<OpenWindow> {
        self.open.filter(|open| open.contains(t))
    }

    fn count(&self, t: u64) -> u64 {
        self.open_at(t).map_or(0, |open| open.count)
    }

    /// Returns the window for an amount taken late at `t`, if the window of `at` is not yet over.
    fn late_window(&self, t: u64, at: u64) -> Option<OpenWindow> {
        match self.opening {
            // Another operation may have opened a new window since; the amount then counts there.
            Opening::FirstRequest(length) => {
                (t < at + length).then(|| self.open_at(t).unwrap_or_else(|| self.opened_at(at)))
            }
            _ => Some(self.open_at(t).unwrap_or_else(|| self.opened_at(t)))
                .filter(|window| window.contains(at)),
        }
    }

    fn put(&mut self, window: OpenWindow, count: u64) {
        self.open = (count > 0).then_some(OpenWindow { count, ..window });
    }
}

impl Counting for OneWindow<'_> {
    fn instant(&self) -> u64 {
        self.open.map_or(0, |open| open.start)
    }

    fn fits(&self, t: u64, cost: u64) -> bool {
        self.count(t) + cost <= self.n
    }

    fn empty(&self, t: u64) -> bool {
        self.count(t) == 0
    }

    fn overflows(&self, t: u64) -> bool {
        self.count(t) > MAX_COUNT
    }

    fn refundable(&self, t: u64, at: u64, _id: Id) -> u64 {
        let open = self.open_at(t).filter(|open| open.contains(at));
        open.map_or(0, |open| open.count)
    }

    fn apply(&mut self, event: &Event) -> bool {
        let open = self.open_at(event.when);
        let window = match event.change {
            Change::Take { .. } => open.or_else(|| Some(self.opened_at(event.when))),
            Change::TakeLate { at, .. } => self.late_window(event.when, at),
            _ => open,
        };
        let Some(window) = window else { return false };
        let count = (i128::from(window.count) + event.change.amount()).max(0) as u64;
        if count == window.count {
            return false;
        }
        self.put(window, count);
        true
    }
}
