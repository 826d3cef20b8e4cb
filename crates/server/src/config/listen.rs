//! Listen addresses.

use std::fmt;
use std::net::{AddrParseError, SocketAddr};
use std::str::FromStr;

/// The address where a protocol is served, or `off`.
///
/// ```
/// use tollgate_server::Listen;
///
/// assert_eq!("off".parse(), Ok(Listen::Off));
/// let at: Listen = "[::1]:8080".parse()?;
/// assert_eq!(at.to_string(), "[::1]:8080");
/// # Ok::<(), tollgate_server::ParseListenError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    /// Listen at this address.
    At(SocketAddr),
    /// Do not serve the protocol.
    Off,
}

impl Listen {
    /// Returns the address, or `None` if the protocol is off.
    #[must_use]
    pub fn address(self) -> Option<SocketAddr> {
        match self {
            Listen::At(address) => Some(address),
            Listen::Off => None,
        }
    }
}

impl FromStr for Listen {
    type Err = ParseListenError;

    fn from_str(text: &str) -> Result<Listen, ParseListenError> {
        match text {
            "off" => Ok(Listen::Off),
            _ => text.parse().map(Listen::At).map_err(ParseListenError),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::At(address) => address.fmt(f),
            Listen::Off => f.pad("off"),
        }
    }
}

/// The error of parsing text that is neither an address with a port nor `off` as a [`Listen`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseListenError(AddrParseError);

/// What error messages say is expected.
pub(super) const EXPECTED: &str = "an address with a port, such as 127.0.0.1:8080, or off";

impl fmt::Display for ParseListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {EXPECTED}")
    }
}

impl std::error::Error for ParseListenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}
