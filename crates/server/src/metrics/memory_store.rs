//! The metrics of a store in memory: how full it is.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::exposition::{Exposition, MAX_POLICIES, counter, gauge, whole};

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
        let shares = [
            ("states", stats.states),
            ("leases", stats.leases),
            ("reservations", stats.reservations),
            ("ids", stats.remembered),
        ];
        let bytes = shares.map(|(kind, share)| (kind, share.bytes));
        let help = "Memory of the store, by kind";
        gauges(encoder, ("memory_bytes", help, "kind"), bytes)?;
        let max = shares.map(|(kind, share)| (kind, share.max));
        let help = "Maximum memory of the store, by kind";
        gauges(encoder, ("memory_limit_bytes", help, "kind"), max)?;
        self.policy_keys(encoder)
    }

    /// Encodes how full the policies with a bound of their own are.
    fn policy_keys(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let policies = self.engine.policies();
        let bounded = || {
            let bounded = policies.iter().filter(|policy| policy.max_keys().is_some());
            bounded.take(MAX_POLICIES).map(|policy| (policy.name().as_str(), policy))
        };
        let keys =
            bounded().filter_map(|(name, policy)| Some((name, self.engine.keys_of(policy)?)));
        let help = "Number of states kept in memory, of policies with max_keys";
        gauges(encoder, ("policy_keys", help, "policy"), keys)?;
        let max = bounded().filter_map(|(name, policy)| Some((name, policy.max_keys()?.get())));
        let help = "Maximum number of states kept in memory, of policies with max_keys";
        gauges(encoder, ("policy_keys_limit", help, "policy"), max)
    }
}

/// Encodes a gauge with a sample for each value of a label.
fn gauges<'v>(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help, label): (&str, &str, &str),
    samples: impl IntoIterator<Item = (&'v str, usize)>,
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (value, number) in samples {
        ConstGauge::new(whole(number)).encode(metric.encode_family(&[(label, value)])?)?;
    }
    Ok(())
}
