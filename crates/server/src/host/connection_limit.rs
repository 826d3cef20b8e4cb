//! Places for connections: so many in all, and so many for one peer.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// The connections of one protocol.
#[derive(Debug, Default)]
pub(crate) struct ConnectionLimit(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_peer: HashMap<IpAddr, usize>,
    /// How often there was no place.
    refused: u64,
}

/// How many there may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MaxConnections {
    pub(crate) all: usize,
    pub(crate) of_peer: usize,
}

/// A place. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    limit: Arc<ConnectionLimit>,
    peer: IpAddr,
}

impl ConnectionLimit {
    /// A place for someone at this address, if there is one.
    pub(crate) fn take(
        self: &Arc<ConnectionLimit>,
        address: IpAddr,
        most: MaxConnections,
    ) -> Option<ConnectionPermit> {
        let peer = peer(address);
        self.with(|taken| {
            let own = taken.by_peer.get(&peer).copied().unwrap_or(0);
            if taken.all >= most.all || own >= most.of_peer {
                taken.refused += 1;
                return None;
            }
            taken.all += 1;
            taken.by_peer.insert(peer, own + 1);
            Some(ConnectionPermit { limit: Arc::clone(self), peer })
        })
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        self.with(|taken| taken.all)
    }

    /// How often there was none.
    pub(crate) fn refused(&self) -> u64 {
        self.with(|taken| taken.refused)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Taken) -> T) -> T {
        // Whoever panicked left whole numbers.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.limit.with(|taken| {
            taken.all = taken.all.saturating_sub(1);
            match taken.by_peer.get_mut(&self.peer) {
                Some(own) if *own > 1 => *own -= 1,
                _ => drop(taken.by_peer.remove(&self.peer)),
            }
        });
    }
}

/// Who someone at an address is taken for. One machine has as many addresses of IPv6 as it likes, all
/// of one network of 64 bits.
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

    fn limit(addresses: &[&str], most: MaxConnections) -> Vec<bool> {
        let limit = Arc::new(ConnectionLimit::default());
        let mut held = Vec::new();
        let take = |address: &&str| {
            let permit = limit.take(address.parse().unwrap(), most);
            let is_taken = permit.is_some();
            held.extend(permit);
            is_taken
        };
        let taken: Vec<bool> = addresses.iter().map(take).collect();
        assert_eq!(limit.taken(), held.len());
        drop(held);
        assert_eq!((limit.taken(), limit.with(|taken| taken.by_peer.len())), (0, 0));
        taken
    }

    #[test]
    fn one_peer_does_not_take_all() {
        let most = MaxConnections { all: 3, of_peer: 2 };
        let taken = limit(&["10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3"], most);
        assert_eq!(taken, [true, true, false, true, false]);
    }

    #[test]
    fn a_peer_is_known_by_its_network() {
        let most = MaxConnections { all: 9, of_peer: 1 };
        assert_eq!(
            limit(&["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"], most),
            [true, false, true]
        );
        assert_eq!(limit(&["10.0.0.1", "::ffff:10.0.0.1", "10.0.0.2"], most), [true, false, true]);
    }
}
