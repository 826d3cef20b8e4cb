//! The timer that a caller sleeps on.

#[cfg(not(test))]
pub(super) use futures_timer::Delay;
#[cfg(test)]
pub(super) use virtual_time::{Delay, VirtualTime};

/// A timer in virtual time on a thread that has started it, and in real time on any other.
#[cfg(test)]
mod virtual_time {
    use std::cell::Cell;
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::time::Duration;

    thread_local! {
        /// Virtual time that has passed.
        static NOW: Cell<Option<Duration>> = const { Cell::new(None) };
    }

    /// The virtual time of this thread. It ends when this is dropped.
    pub(in super::super) struct VirtualTime(());

    impl VirtualTime {
        pub(in super::super) fn start() -> VirtualTime {
            NOW.set(Some(Duration::ZERO));
            VirtualTime(())
        }

        /// Lets time pass. No task is woken: poll again what may be ready.
        pub(in super::super) fn advance(&self, by: Duration) {
            NOW.set(NOW.get().map(|now| now + by));
        }
    }

    impl Drop for VirtualTime {
        fn drop(&mut self) {
            NOW.set(None);
        }
    }

    pub(in super::super) enum Delay {
        Real(futures_timer::Delay),
        /// Until this time has passed.
        Virtual(Duration),
    }

    impl Delay {
        pub(in super::super) fn new(wait: Duration) -> Delay {
            match NOW.get() {
                None => Delay::Real(futures_timer::Delay::new(wait)),
                Some(now) => Delay::Virtual(now.saturating_add(wait)),
            }
        }
    }

    impl Future for Delay {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            match &mut *self {
                Delay::Real(delay) => Pin::new(delay).poll(context),
                Delay::Virtual(end) if NOW.get().is_some_and(|now| now >= *end) => Poll::Ready(()),
                Delay::Virtual(_) => Poll::Pending,
            }
        }
    }
}
