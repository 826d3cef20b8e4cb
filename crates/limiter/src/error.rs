//! The error of a limiter.

use std::fmt;
use std::time::Duration;

use tollgate_core::{Denied, InvalidKey, RequestError, StoreError};

/// The error of a limiter.
///
/// If the limiter could not decide, the caller chooses what to do. Most let the request pass if the
/// error is not the client's fault. A denial is a [`Decision`](crate::Decision), and an error only of a
/// wait or a lease, which return nothing else.
///
/// ```
/// use tollgate::{Error, Limiter};
///
/// fn may_pass(limiter: &Limiter, key: &str) -> Result<bool, Error> {
///     match limiter.check(key) {
///         Ok(decision) => Ok(decision.allowed),
///         // Nothing was decided: let the request pass.
///         Err(error) if error.is_unavailable() || error.is_full() => Ok(true),
///         Err(error) => Err(error),
///     }
/// }
///
/// let limiter: Limiter = "gcra 1/s".parse()?;
/// assert!(may_pass(&limiter, "203.0.113.9")?);
/// assert!(may_pass(&limiter, "").unwrap_err().is_bad_key());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Error(Box<ErrorKind>);

#[derive(Debug, Clone)]
enum ErrorKind {
    Request(RequestError),
    Store(StoreError),
    Denied(Denied),
    /// Not admitted within this time; the last denial, if the store was asked.
    TimedOut(Duration, Option<Denied>),
    NoLeases,
    LeaseLost,
}

impl Error {
    /// Creates the error of a wait that was not admitted in time.
    #[cold]
    pub(crate) fn timed_out(timeout: Duration, last: Option<Denied>) -> Error {
        Error(Box::new(ErrorKind::TimedOut(timeout, last)))
    }

    /// Creates the error of a lease on a policy that gives none.
    #[cold]
    pub(crate) fn no_leases() -> Error {
        Error(Box::new(ErrorKind::NoLeases))
    }

    /// Creates the error of a lease that has ended while it was held.
    #[cold]
    pub(crate) fn lease_lost() -> Error {
        Error(Box::new(ErrorKind::LeaseLost))
    }

    /// Returns the denial, if the request was denied, or not admitted in time.
    #[must_use]
    pub fn denied(&self) -> Option<&Denied> {
        match &*self.0 {
            ErrorKind::Denied(denied) | ErrorKind::TimedOut(_, Some(denied)) => Some(denied),
            _ => None,
        }
    }

    /// Returns whether a wait was not admitted in time.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(*self.0, ErrorKind::TimedOut(..))
    }

    /// Returns whether a lease has ended while it was held, so that another may hold it.
    #[must_use]
    pub fn is_lease_lost(&self) -> bool {
        matches!(*self.0, ErrorKind::LeaseLost)
    }

    /// Returns whether a key or the id is empty or too long, or a subject has no key or two.
    #[must_use]
    pub fn is_bad_key(&self) -> bool {
        matches!(&*self.0, ErrorKind::Request(error) if error.is_bad_key())
    }

    /// Returns whether a cost has a unit that no limit has, or is given twice.
    #[must_use]
    pub fn is_bad_cost(&self) -> bool {
        matches!(&*self.0, ErrorKind::Request(error) if error.is_bad_cost())
    }

    /// Returns whether the factor is out of bounds.
    #[must_use]
    pub fn is_bad_factor(&self) -> bool {
        matches!(&*self.0, ErrorKind::Request(error) if error.is_bad_factor())
    }

    /// Returns whether the debt would be too large. The key is denied as it is.
    #[must_use]
    pub fn is_overdrawn(&self) -> bool {
        self.store_error().is_some_and(StoreError::is_overdrawn)
    }

    /// Returns whether the store has no room for what must be counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.store_error().is_some_and(StoreError::is_full)
    }

    /// Returns whether the store could not be reached or did not respond. Whether the operation was
    /// done is then not known.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        self.store_error().is_some_and(StoreError::is_unavailable)
    }

    /// Returns whether the store was [unavailable](Error::is_unavailable) and has certainly not done
    /// the operation, so that a retry without an id is safe.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.store_error().is_some_and(StoreError::is_refused)
    }

    /// Returns whether the stored state of the key cannot be read: another program or another version
    /// has written it. The store is available. A [reset](crate::Request::reset) of the key helps.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.store_error().is_some_and(StoreError::is_damaged)
    }

    fn store_error(&self) -> Option<&StoreError> {
        if let ErrorKind::Store(error) = &*self.0 { Some(error) } else { None }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            ErrorKind::Request(error) => error.fmt(f),
            ErrorKind::Store(error) => error.fmt(f),
            ErrorKind::Denied(denied) => denied.fmt(f),
            ErrorKind::TimedOut(timeout, Some(denied)) => {
                write!(f, "not admitted within {timeout:?}: {denied}")
            }
            ErrorKind::TimedOut(timeout, None) => {
                write!(f, "not admitted within {timeout:?}: others wait for the same keys")
            }
            ErrorKind::NoLeases => {
                f.write_str("no lease: no limit of the policy is a concurrency limit")
            }
            ErrorKind::LeaseLost => f.write_str("the lease has ended, and another may hold it"),
        }
    }
}

impl std::error::Error for Error {
    /// Returns the cause of the error inside: its own message is already that of this error, and must
    /// not appear twice in a report of the whole chain.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            ErrorKind::Request(error) => error.source(),
            ErrorKind::Store(error) => error.source(),
            ErrorKind::Denied(denied) | ErrorKind::TimedOut(_, Some(denied)) => denied.source(),
            ErrorKind::TimedOut(_, None) | ErrorKind::NoLeases | ErrorKind::LeaseLost => None,
        }
    }
}

impl From<RequestError> for Error {
    #[cold]
    fn from(error: RequestError) -> Error {
        Error(Box::new(ErrorKind::Request(error)))
    }
}

impl From<InvalidKey> for Error {
    #[cold]
    fn from(error: InvalidKey) -> Error {
        RequestError::from(error).into()
    }
}

impl From<StoreError> for Error {
    #[cold]
    fn from(error: StoreError) -> Error {
        Error(Box::new(ErrorKind::Store(error)))
    }
}

impl From<Denied> for Error {
    #[cold]
    fn from(denied: Denied) -> Error {
        Error(Box::new(ErrorKind::Denied(denied)))
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::io;

    use tollgate_core::Key;

    use super::*;

    #[test]
    fn the_source_is_the_cause_of_the_store_error() {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let error = Error::from(StoreError::unavailable(refused()));
        assert_eq!(error.source().unwrap().to_string(), refused().to_string());
        assert!(error.source().unwrap().is::<io::Error>());
        assert_ne!(error.to_string(), refused().to_string());
    }

    #[test]
    fn a_store_error_keeps_what_it_says() {
        let damaged = Error::from(StoreError::damaged("not a state"));
        assert!(damaged.is_damaged() && !damaged.is_unavailable() && !damaged.is_refused());
        let refused = Error::from(StoreError::refused("read-only"));
        assert!(refused.is_refused() && refused.is_unavailable() && !refused.is_damaged());
        assert!(!Error::from(StoreError::unavailable("timeout")).is_refused());
    }

    #[test]
    fn an_error_without_a_cause_has_no_source() {
        let error = Error::from(Key::new(b"").unwrap_err());
        assert!(error.is_bad_key() && error.source().is_none());
    }
}
