//! Limits on open connections: a number in all, and a number for each peer.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// Counts the open connections of one protocol, and limits them.
#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    max: MaxConnections,
    counts: Mutex<Counts>,
}

/// Maximum numbers of open connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MaxConnections {
    pub(crate) total: usize,
    pub(crate) per_peer: usize,
}

#[derive(Debug, Default)]
struct Counts {
    total: usize,
    by_peer: HashMap<IpAddr, usize>,
    refused: u64,
}

/// Stands for one open connection. Dropping it makes room for another.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    limit: Arc<ConnectionLimit>,
    peer: IpAddr,
}

impl ConnectionLimit {
    pub(crate) fn new(max: MaxConnections) -> ConnectionLimit {
        ConnectionLimit { max, counts: Mutex::default() }
    }

    /// Returns a permit for a client at this address, unless a limit is reached.
    pub(crate) fn acquire(
        self: &Arc<ConnectionLimit>,
        address: IpAddr,
    ) -> Option<ConnectionPermit> {
        let peer = peer(address);
        self.with(|counts| {
            let own = counts.by_peer.get(&peer).copied().unwrap_or(0);
            if counts.total >= self.max.total || own >= self.max.per_peer {
                counts.refused += 1;
                return None;
            }
            counts.total += 1;
            counts.by_peer.insert(peer, own + 1);
            Some(ConnectionPermit { limit: Arc::clone(self), peer })
        })
    }

    /// Returns the number of open connections.
    pub(crate) fn open(&self) -> usize {
        self.with(|counts| counts.total)
    }

    /// Returns how many connections were refused so far.
    pub(crate) fn refused(&self) -> u64 {
        self.with(|counts| counts.refused)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Counts) -> T) -> T {
        // A panic elsewhere cannot have left the numbers inconsistent.
        act(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.limit.with(|counts| {
            counts.total = counts.total.saturating_sub(1);
            match counts.by_peer.get_mut(&self.peer) {
                Some(own) if *own > 1 => *own -= 1,
                _ => drop(counts.by_peer.remove(&self.peer)),
            }
        });
    }
}

/// Returns the peer that an address counts for: one machine has as many IPv6 addresses as it likes, all
/// of one /64 network.
fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acquire_each(addresses: &[&str], max: MaxConnections) -> Vec<bool> {
        let limit = Arc::new(ConnectionLimit::new(max));
        let mut permits = Vec::new();
        let acquire = |address: &&str| {
            let permit = limit.acquire(address.parse().unwrap());
            let acquired = permit.is_some();
            permits.extend(permit);
            acquired
        };
        let acquired: Vec<bool> = addresses.iter().map(acquire).collect();
        assert_eq!(limit.open(), permits.len());
        drop(permits);
        assert_eq!((limit.open(), limit.with(|counts| counts.by_peer.len())), (0, 0));
        acquired
    }

    #[test]
    fn one_peer_cannot_take_all_connections() {
        let max = MaxConnections { total: 3, per_peer: 2 };
        let peers = ["10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3"];
        assert_eq!(acquire_each(&peers, max), [true, true, false, true, false]);
    }

    #[test]
    fn an_ipv6_peer_is_its_network() {
        let max = MaxConnections { total: 9, per_peer: 1 };
        assert_eq!(
            acquire_each(&["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"], max),
            [true, false, true]
        );
        assert_eq!(
            acquire_each(&["10.0.0.1", "::ffff:10.0.0.1", "10.0.0.2"], max),
            [true, false, true]
        );
    }
}
