//! IP networks: `10.0.0.0/8`.

use std::net::IpAddr;

/// What error messages say is expected.
pub(super) const EXPECTED: &str = "an address, or a network such as 10.0.0.0/8 or 2001:db8::/32";

/// Parses an address and the length of its network prefix. An address alone is a network of one.
pub(super) fn parse(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().ok()?;
    let max = if address.is_ipv4() { 32 } else { 128 };
    let bits = match length {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        Some(_) => return None,
        None => max,
    };
    (bits <= max).then_some((address, bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_with_a_prefix_length() {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "192.0.2.1", "2001:db8::/32", "::1", "::/128"] {
            assert!(parse(text).is_some(), "{text}");
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
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
