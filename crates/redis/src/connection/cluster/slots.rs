//! Slots of a cluster, and which node owns them.

use std::sync::Arc;

use redis::{Cmd, ConnectionAddr, ConnectionInfo, RedisError, Value, cmd};
use tollgate_core::Op;

use crate::call::keys::Prefix;
use crate::connection::node::Node;

/// Number of slots of a cluster.
const SLOTS: u16 = 16_384;

/// A host and a port.
pub(super) type Address = (String, u16);

/// The owner of every slot.
#[derive(Debug, Default)]
pub(super) struct SlotMap {
    /// The first slot, the last, and the address of their primary.
    ranges: Vec<(u16, u16, Address)>,
}

impl SlotMap {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn owner(&self, slot: u16) -> Option<Address> {
        let index = self.ranges.partition_point(|(_, last, _)| *last < slot);
        let (first, _, owner) = self.ranges.get(index)?;
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

/// Returns the slot of a key: that of the part between its first braces, if it has any.
pub(super) fn slot_of(key: &[u8]) -> u16 {
    let open = key.iter().position(|byte| *byte == b'{');
    let inside = open.and_then(|open| key.get(open.saturating_add(1)..));
    let tag = inside.and_then(|rest| {
        let close = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..close).filter(|tag| !tag.is_empty())
    });
    let sum = tag.unwrap_or(key).iter().fold(0_u16, |sum, byte| {
        let index = usize::from((sum >> 8) as u8 ^ byte);
        sum << 8 ^ REMAINDERS.get(index).copied().unwrap_or(0)
    });
    sum % SLOTS
}

/// Returns the positions of an operation's limits, by slot, in the order of the limits.
pub(crate) fn positions_by_slot(op: &Op<'_>, prefix: &Prefix) -> Vec<Vec<usize>> {
    let mut slots: Vec<(u16, Vec<usize>)> = Vec::new();
    for (position, item) in op.items.iter().enumerate() {
        let slot = slot_of(&prefix.state(op.policy, item.subject));
        match slots.iter_mut().find(|(known, _)| *known == slot) {
            Some((_, positions)) => positions.push(position),
            None => slots.push((slot, vec![position])),
        }
    }
    slots.into_iter().map(|(_, positions)| positions).collect()
}

/// Parses the address in a redirection: `host:port`, or `:port` for the host that sent it.
pub(super) fn parse_address(text: &str, sender: &str) -> Option<Address> {
    let (host, port) = text.rsplit_once(':')?;
    let host = if host.is_empty() { sender } else { host };
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

/// Returns the connection settings of a seed for another address.
pub(super) fn with_address(
    seed: &ConnectionInfo,
    (host, port): &Address,
) -> Option<ConnectionInfo> {
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

/// Asks a node which node owns which slots.
pub(super) async fn fetch(node: &Arc<Node>, address: &Address) -> Result<SlotMap, RedisError> {
    let mut slots: Cmd = cmd("CLUSTER");
    slots.arg("SLOTS");
    let reply = node.run_one(&slots).await?;
    let invalid =
        || RedisError::from((redis::ErrorKind::Parse, "unexpected reply to CLUSTER SLOTS"));
    parse(&reply, &address.0).ok_or_else(invalid)
}

fn parse(reply: &Value, host: &str) -> Option<SlotMap> {
    let Value::Array(ranges) = reply else { return None };
    let mut ranges: Vec<(u16, u16, Address)> =
        ranges.iter().map(|range| parse_range(range, host)).collect::<Option<_>>()?;
    ranges.sort();
    // A node that knows no slots has left the cluster: another node must be asked.
    (!ranges.is_empty()).then_some(SlotMap { ranges })
}

/// Parses the first slot, the last, and the primary. Its replicas follow, and are ignored.
fn parse_range(range: &Value, sender: &str) -> Option<(u16, u16, Address)> {
    let Value::Array(parts) = range else { return None };
    let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = parts.as_slice() else {
        return None;
    };
    let [host, Value::Int(port), ..] = primary.as_slice() else { return None };
    let host = match host {
        Value::BulkString(host) if !host.is_empty() => String::from_utf8(host.clone()).ok()?,
        // A node that does not know its own address is at the one where it was asked.
        _ => sender.to_owned(),
    };
    let number = |number: &i64| u16::try_from(*number).ok();
    Some((number(first)?, number(last)?, (host, number(port)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_the_same_as_in_redis() {
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
