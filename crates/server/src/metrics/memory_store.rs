//! The metrics of a store in memory: how full it is.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use tollgate::StoreStats;

use super::exposition::{Exposition, counter, gauge, whole};

impl Exposition {
    pub(super) fn memory_store(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(stats) = self.engine.stats() else { return Ok(()) };
        let behind = self.engine.wall_behind().unwrap_or_default().as_secs();
        let help =
            "How far the wall clock is behind the server's clock, once that was more than a minute";
        gauge(encoder, "wall_clock_behind_seconds", help, whole(behind))?;
        gauge(encoder, "keys", "Number of states kept in memory", whole(stats.keys))?;
        let help = "Maximum number of states kept in memory";
        gauge(encoder, "keys_limit", help, whole(stats.max_keys))?;
        let help = "Number of operations that were decided by when_full because the store was full";
        counter(encoder, "keys_rejected", help, stats.rejected)?;
        gauge(encoder, "ids", "Number of operations remembered by their ids", whole(stats.ids))?;
        let help = "Maximum number of operations remembered by their ids";
        gauge(encoder, "ids_limit", help, whole(stats.max_ids))?;
        let help = "Number of operations that were done and not remembered by their ids, \
                    because the policy had used up its share";
        counter(encoder, "ids_unremembered", help, stats.unremembered)?;
        memory(encoder, &stats)
    }
}

/// Encodes the bytes of each kind, and their bounds.
fn memory(encoder: &mut DescriptorEncoder<'_>, stats: &StoreStats) -> fmt::Result {
    let shares = [
        ("states", stats.states),
        ("leases", stats.leases),
        ("reservations", stats.reservations),
        ("ids", stats.remembered),
    ];
    let mut metric = encoder.encode_descriptor(
        "memory_bytes",
        "Memory of the store, by kind",
        None,
        MetricType::Gauge,
    )?;
    for (kind, share) in shares {
        ConstGauge::new(whole(share.bytes)).encode(metric.encode_family(&[("kind", kind)])?)?;
    }
    let help = "Maximum memory of the store, by kind";
    let mut metric =
        encoder.encode_descriptor("memory_limit_bytes", help, None, MetricType::Gauge)?;
    for (kind, share) in shares {
        ConstGauge::new(whole(share.max)).encode(metric.encode_family(&[("kind", kind)])?)?;
    }
    Ok(())
}
