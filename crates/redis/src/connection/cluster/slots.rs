//! Which node has which slot.

use redis::{Cmd, ConnectionAddr, ConnectionInfo, RedisError, Value, cmd};
use tollgate_core::Op;

use crate::call::keys::Prefix;
use crate::connection::node::Node;

/// How many slots a cluster has.
const SLOTS: u16 = 16_384;

/// A host and a port.
pub(super) type Address = (String, u16);

/// The primary of every slot.
#[derive(Debug, Default)]
pub(super) struct Map {
    /// The first slot, the last, and who has them.
    ranges: Vec<(u16, u16, Address)>,
}

impl Map {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn owner(&self, slot: u16) -> Option<Address> {
        let place = self.ranges.partition_point(|(_, last, _)| *last < slot);
        let (first, _, owner) = self.ranges.get(place)?;
        (*first <= slot).then(|| owner.clone())
    }

    pub(super) fn nodes(&self) -> Vec<Address> {
        let mut nodes: Vec<Address> = self.ranges.iter().map(|(.., node)| node.clone()).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }
}

/// The remainders of CRC-16/XMODEM for every byte.
const REMAINDERS: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte: u16 = 0;
    while byte < 256 {
        let (mut rest, mut bit) = (byte << 8, 0);
        while bit < 8 {
            rest = if rest & 0x8000 == 0 { rest << 1 } else { rest << 1 ^ 0x1021 };
            bit += 1;
        }
        table[byte as usize] = rest;
        byte += 1;
    }
    table
};

/// The slot of a key: of what stands between its first braces.
pub(super) fn slot_of(key: &[u8]) -> u16 {
    let open = key.iter().position(|byte| *byte == b'{');
    let inside = open.and_then(|open| key.get(open.saturating_add(1)..));
    let tag = inside.and_then(|rest| {
        let close = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..close).filter(|tag| !tag.is_empty())
    });
    let sum = tag.unwrap_or(key).iter().fold(0_u16, |sum, byte| {
        let place = usize::from((sum >> 8) as u8 ^ byte);
        sum << 8 ^ REMAINDERS.get(place).copied().unwrap_or(0)
    });
    sum % SLOTS
}

/// The positions of an operation's limits, by slot, in the order in which they come.
pub(crate) fn places(op: &Op<'_>, prefix: &Prefix) -> Vec<Vec<usize>> {
    let mut places: Vec<(u16, Vec<usize>)> = Vec::new();
    for (position, item) in op.items.iter().enumerate() {
        let slot = slot_of(&prefix.state(op.policy, item.subject));
        match places.iter_mut().find(|(known, _)| *known == slot) {
            Some((_, positions)) => positions.push(position),
            None => places.push((slot, vec![position])),
        }
    }
    places.into_iter().map(|(_, positions)| positions).collect()
}

/// Where a node is, as a redirection says: `host:port`, or `:port` for the host that was asked.
pub(super) fn parse_address(text: &str, asked: &str) -> Option<Address> {
    let (host, port) = text.rsplit_once(':')?;
    let host = if host.is_empty() { asked } else { host };
    Some((host.to_owned(), port.parse().ok()?))
}

pub(super) fn address_of(info: &ConnectionInfo) -> Option<Address> {
    match info.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            Some((host.clone(), *port))
        }
        _ => None,
    }
}

/// The same way in, at another address.
pub(super) fn at(seed: &ConnectionInfo, (host, port): &Address) -> Option<ConnectionInfo> {
    let (host, port) = (host.clone(), *port);
    let addr = match seed.addr() {
        ConnectionAddr::Tcp(..) => ConnectionAddr::Tcp(host, port),
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
            let (insecure, tls_params) = (*insecure, tls_params.clone());
            ConnectionAddr::TcpTls { host, port, insecure, tls_params }
        }
        _ => return None,
    };
    Some(seed.clone().set_addr(addr))
}

/// Asks a node who has which slots.
pub(super) async fn ask(node: &Node, address: &Address) -> Result<Map, RedisError> {
    let mut slots: Cmd = cmd("CLUSTER");
    slots.arg("SLOTS");
    let answer = node.run_one(&slots).await?;
    let odd = || RedisError::from((redis::ErrorKind::Parse, "CLUSTER SLOTS was answered oddly"));
    read(&answer, &address.0).ok_or_else(odd)
}

fn read(answer: &Value, host: &str) -> Option<Map> {
    let Value::Array(ranges) = answer else { return None };
    let mut ranges: Vec<(u16, u16, Address)> =
        ranges.iter().map(|range| read_range(range, host)).collect::<Option<_>>()?;
    ranges.sort();
    // Whoever knows no slots has left the cluster: others know better.
    (!ranges.is_empty()).then_some(Map { ranges })
}

/// The first slot, the last, and the primary; then its replicas.
fn read_range(range: &Value, asked: &str) -> Option<(u16, u16, Address)> {
    let Value::Array(parts) = range else { return None };
    let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = parts.as_slice() else {
        return None;
    };
    let [host, Value::Int(port), ..] = primary.as_slice() else { return None };
    let host = match host {
        Value::BulkString(host) if !host.is_empty() => String::from_utf8(host.clone()).ok()?,
        // Whoever does not know its own address is where it was asked.
        _ => asked.to_owned(),
    };
    let number = |number: &i64| u16::try_from(*number).ok();
    Some((number(first)?, number(last)?, (host, number(port)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_redis() {
        let table: [(&[u8], u16); 5] = [
            (b"foo", 12_182),
            (b"123456789", 0x31c3),
            (b"tg:{foo}:i123", 12_182),
            (b"{}foo", 9500),
            (b"{user1000}.following", 3_443),
        ];
        for (key, slot) in table {
            assert_eq!(slot_of(key), slot, "{}", String::from_utf8_lossy(key));
        }
    }
}
