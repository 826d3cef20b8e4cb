//! IP networks: `10.0.0.0/8`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Number of bits before an IPv4 address that is mapped to IPv6.
const MAPPED_BITS: u8 = 96;

/// A network of IP addresses, written as `10.0.0.0/8`, or as one address.
///
/// ```
/// use tollgate_http::Network;
///
/// let proxies: Network = "10.0.0.0/8".parse()?;
/// assert!(proxies.contains("10.1.2.3".parse()?));
/// // The same address, as a socket of both versions reports it.
/// assert!(proxies.contains("::ffff:10.1.2.3".parse()?));
/// assert!(!proxies.contains("192.0.2.1".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// Number of leading bits that all its addresses share.
    prefix: u8,
}

impl Network {
    /// What the text of a network looks like, for error messages.
    pub const EXPECTED: &str = "an address, or a network such as 10.0.0.0/8 or 2001:db8::/32";

    /// Returns whether an address is in this network. An IPv4 address that is mapped to IPv6 is an IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = (own.to_bits() ^ other.to_bits()).leading_zeros();
                differ >= u32::from(self.prefix)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = (own.to_bits() ^ other.to_bits()).leading_zeros();
                differ >= u32::from(self.prefix)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = ParseNetworkError;

    /// Parses an address and the length of the prefix. An address alone is a network of one.
    fn from_str(text: &str) -> Result<Network, ParseNetworkError> {
        parse(text).ok_or(ParseNetworkError(()))
    }
}

fn parse(text: &str) -> Option<Network> {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().ok()?;
    let max = if address.is_ipv4() { 32 } else { 128 };
    let prefix: u8 = match length {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        Some(_) => return None,
        None => max,
    };
    if prefix > max {
        return None;
    }
    // A network of mapped addresses is one of IPv4, as these are compared.
    Some(match (address.to_canonical(), prefix.checked_sub(MAPPED_BITS)) {
        (mapped @ IpAddr::V4(_), Some(prefix)) if address.is_ipv6() => {
            Network { address: mapped, prefix }
        }
        _ => Network { address, prefix },
    })
}

/// The error of a text that is not a [`Network`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseNetworkError(());

impl fmt::Display for ParseNetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid network; expected {}", Network::EXPECTED)
    }
}

impl std::error::Error for ParseNetworkError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_with_a_prefix_length() {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "192.0.2.1", "2001:db8::/32", "::1", "::/128"] {
            assert!(text.parse::<Network>().is_ok(), "{text}");
        }
        for text in [
            "",
            "/8",
            "10.0.0.0/",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/+8",
            "10.0.0/8",
            "10.0.0.0/8/8",
            "localhost",
            " 10.0.0.0/8",
            "10.0.0.0/256",
            "[::1]",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_network_contains_the_addresses_that_share_its_prefix() {
        let table = [
            ("10.0.0.0/8", "10.255.255.255", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.1.2.3/8", "10.9.9.9", true),
            ("192.0.2.0/25", "192.0.2.127", true),
            ("192.0.2.0/25", "192.0.2.128", false),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.0", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "203.0.113.9", false),
            ("::/0", "2001:db8::1", true),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("10.0.0.0/8", "::ffff:11.0.0.1", false),
            ("::ffff:10.0.0.0/104", "10.9.9.9", true),
            ("::ffff:10.0.0.0/104", "::ffff:10.9.9.9", true),
            ("::ffff:10.0.0.0/104", "11.0.0.1", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::1", "::1", true),
        ];
        for (network, address, contains) in table {
            let network: Network = network.parse().unwrap();
            assert_eq!(
                network.contains(address.parse().unwrap()),
                contains,
                "{network:?} {address}"
            );
        }
    }
}
