//! The metrics of the layers around a remote store.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use tollgate::layers::{Distribution, LayerStats};
use tollgate_core::Source;

use super::exposition::{Exposition, MAX_POLICIES, OTHERS, counter, gauge, whole};
use crate::engine::active_policy::ActivePolicy;
use crate::engine::counts::SourceCounters;

impl Exposition {
    /// Encodes what the layers around a remote store do.
    pub(super) fn layers(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some((stats, sources)) = self.engine.layer_stats().zip(self.engine.sources.as_ref())
        else {
            return Ok(());
        };
        answers(encoder, sources)?;
        calls_saved(encoder, &stats)?;
        let help = "Number of decisions made without the store because it was unavailable";
        counter(encoder, "degraded_answers", help, sources.degraded())?;
        let help = "Number of operations that the store did not answer";
        counter(encoder, "store_failures", help, stats.failures)?;
        let help = "Whether the store fails, so that it gets only probes (1), or not (0)";
        gauge(encoder, "breaker_open", help, i64::from(stats.is_open))?;
        let help = "Number of keys to charge to the store when it is available again";
        gauge(encoder, "layer_uncharged_keys", help, whole(stats.uncharged_keys))?;
        let help = "Number of checks allowed without the store and never charged to it, because layer memory was full";
        counter(encoder, "layer_lost", help, stats.lost)?;
        let help =
            "Number of checks that were sent to the store, got no reply and were then allowed";
        counter(encoder, "layer_unanswered", help, stats.unanswered)?;
        let help = "Memory in use by the layers";
        gauge(encoder, "layer_memory_bytes", help, whole(stats.memory))?;
        let help = "Maximum memory of the layers";
        gauge(encoder, "layer_memory_limit_bytes", help, whole(stats.max_memory))?;
        let help = "Number of servers that share the store, as configured";
        gauge(encoder, "nodes", help, i64::from(stats.nodes))?;
        let help = "Cost that this server has admitted and not yet written to the store";
        gauge(encoder, "layer_unwritten", help, whole(stats.unwritten))?;
        let help = "Quota that this server has taken ahead and not yet spent";
        gauge(encoder, "layer_prefetched", help, whole(stats.prefetched))?;
        let help = "Cost that this server has admitted beyond a limit";
        counter(encoder, "over_admitted", help, stats.over_admitted)?;
        self.over_admission_bounds(encoder, stats.nodes)
    }

    /// Encodes how much each policy may admit beyond its limits, unless the store decides all its checks.
    fn over_admission_bounds(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        nodes: u32,
    ) -> fmt::Result {
        let help =
            "Maximum cost that all servers together admit for a key beyond a limit of the policy";
        let name = "over_admission_bound";
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        let policies = self.engine.policies();
        let is_strict = |policy: &&ActivePolicy| policy.distribution() == Distribution::Strict;
        let mut all = policies.iter().filter(|policy| !is_strict(policy));
        let bound = |policy: &ActivePolicy| policy.max_over_admission(nodes);
        for policy in all.by_ref().take(MAX_POLICIES) {
            encode_bound(&mut metric, policy.name().as_str(), bound(policy))?;
        }
        // Policies do not share limits: of the rest, the greatest bound counts.
        let greatest = all.map(bound).max();
        greatest.map_or(Ok(()), |bound| encode_bound(&mut metric, OTHERS, bound))
    }
}

/// Encodes who has decided.
fn answers(encoder: &mut DescriptorEncoder<'_>, sources: &SourceCounters) -> fmt::Result {
    let help = "Number of checks and reservations, by the source of the decision";
    let mut metric = encoder.encode_descriptor("answers", help, None, MetricType::Counter)?;
    for source in Source::ALL {
        let labels = [("source", source.name())];
        ConstCounter::new(sources.total(source)).encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}

fn calls_saved(encoder: &mut DescriptorEncoder<'_>, stats: &LayerStats) -> fmt::Result {
    let (name, help) = ("layer_calls_saved", "Number of store calls that a layer saved");
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    let saved = [("deny_cache", stats.denied_by_cache), ("coalesce", stats.calls_coalesced)];
    for (layer, number) in saved {
        let labels = [("layer", layer)];
        ConstCounter::new(number).encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}

fn encode_bound(metric: &mut MetricEncoder<'_>, policy: &str, bound: u64) -> fmt::Result {
    ConstGauge::new(whole(bound)).encode(metric.encode_family(&[("policy", policy)])?)
}
