//! The metrics in the OpenMetrics text format, which Prometheus scrapes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet, text};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;

use crate::engine::Engine;
use crate::engine::counts::{Outcome, OutcomeCounters, Reloads};
use crate::net::connection_limit::ConnectionLimit;
use crate::policy::INLINE_POLICY;

/// The `content-type` of the response.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Maximum number of policies with time series of their own. The rest share one, which bounds the size of
/// the response.
pub(super) const MAX_POLICIES: usize = 1_000;
/// The policy label of the rest. No policy can have this name.
pub(super) const OTHERS: &str = "(others)";

/// The connection limits of each protocol, which count the open connections.
#[derive(Debug, Clone)]
pub(crate) struct OpenConnections {
    pub(crate) resp: Arc<ConnectionLimit>,
    pub(crate) http: Arc<ConnectionLimit>,
}

impl OpenConnections {
    /// Each with the name of its protocol.
    fn iter(&self) -> impl Iterator<Item = (&'static str, &ConnectionLimit)> {
        [("resp", &*self.resp), ("http", &*self.http)].into_iter()
    }
}

/// Collects the metrics of an engine when they are read.
#[derive(Debug)]
pub(crate) struct Exposition {
    pub(crate) engine: Arc<Engine>,
    pub(crate) connections: OpenConnections,
}

impl Exposition {
    /// Appends all metrics to `out`.
    pub(crate) fn write_to(self, out: &mut String) {
        let mut registry = Registry::with_prefix("tollgate");
        registry.register_collector(Box::new(self));
        // Writing to a string cannot fail.
        let _ = text::encode(out, &registry);
    }

    /// Visits the counters of all policies, and those of `CL.THROTTLE`, whose limits come with the command.
    fn for_each_policy(
        &self,
        mut visit: impl FnMut(&str, &[&OutcomeCounters]) -> fmt::Result,
    ) -> fmt::Result {
        let policies = self.engine.policies();
        let mut all = policies.iter();
        visit(INLINE_POLICY, &[&self.engine.inline])?;
        for policy in all.by_ref().take(MAX_POLICIES) {
            visit(policy.name().as_str(), &[policy.counts()])?;
        }
        let rest: Vec<&OutcomeCounters> = all.map(|policy| &**policy.counts()).collect();
        if rest.is_empty() { Ok(()) } else { visit(OTHERS, &rest) }
    }

    /// Encodes a counter with a sample for each policy and each of the outcomes.
    fn outcomes(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help, label): (&str, &str, &str),
        outcomes: &[(&str, Outcome)],
    ) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        self.for_each_policy(|policy, counters| {
            for (value, outcome) in outcomes {
                let total = counters.iter().map(|counters| counters.total(*outcome)).sum::<u64>();
                let labels = [("policy", policy), (label, value)];
                ConstCounter::new(total).encode(metric.encode_family(&labels)?)?;
            }
            Ok(())
        })
    }

    fn store(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let latency = &self.engine.latency;
        let help = "Duration of store calls; with the memory store, one call in 64 is sampled";
        let unit = Some(&prometheus_client::registry::Unit::Seconds);
        let mut metric =
            encoder.encode_descriptor("store_duration", help, unit, MetricType::Histogram)?;
        let buckets = latency.buckets();
        let count = buckets.iter().map(|(_, count)| count).sum();
        metric.encode_histogram::<NoLabelSet>(latency.seconds(), count, &buckets, None)?;
        let up = i64::from(self.engine.is_store_up());
        gauge(
            encoder,
            "store_up",
            "Whether the store was available at the last call (1) or not (0)",
            up,
        )
    }

    fn reloads(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Reloads { success, failure } = &self.engine.reloads;
        let help = "Number of config reloads, by outcome";
        let mut metric = encoder.encode_descriptor("reloads", help, None, MetricType::Counter)?;
        for (outcome, number) in [("success", success), ("failure", failure)] {
            let (labels, number) = ([("outcome", outcome)], number.load(Ordering::Relaxed));
            ConstCounter::new(number).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn connections(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Number of open connections, by protocol";
        let mut metric = encoder.encode_descriptor("connections", help, None, MetricType::Gauge)?;
        for (protocol, limit) in self.connections.iter() {
            let (labels, open) = ([("protocol", protocol)], i64::try_from(limit.open()));
            let open = ConstGauge::new(open.unwrap_or(i64::MAX));
            open.encode(metric.encode_family(&labels)?)?;
        }
        let (name, help) = (
            "connections_refused",
            "Number of connections refused because a connection limit was reached",
        );
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (protocol, limit) in self.connections.iter() {
            let labels = [("protocol", protocol)];
            ConstCounter::new(limit.refused()).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        self.outcomes(
            encoder,
            ("decisions", "Number of checks and reservations, by policy and outcome", "outcome"),
            &[
                ("allowed", Outcome::Allowed),
                ("denied", Outcome::Denied),
                ("shadow_denied", Outcome::ShadowDenied),
                ("silenced", Outcome::Silenced),
                ("failed", Outcome::Failed),
            ],
        )?;
        self.outcomes(
            encoder,
            (
                "candidate_differences",
                "Number of decisions for which the candidate differs from the policy",
                "candidate",
            ),
            &[("stricter", Outcome::Stricter), ("looser", Outcome::Looser)],
        )?;
        self.store(encoder)?;
        self.memory_store(encoder)?;
        self.layers(encoder)?;
        self.reloads(encoder)?;
        self.connections(encoder)?;
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        let mut metric =
            encoder.encode_descriptor("build", "Version of the server", None, MetricType::Info)?;
        metric.encode_info(&version)
    }
}

pub(super) fn whole<N: TryInto<i64>>(number: N) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

pub(super) fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: i64,
) -> fmt::Result {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, None, ConstGauge::<i64>::TYPE)?)
}

pub(super) fn counter(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: u64,
) -> fmt::Result {
    let counter = ConstCounter::new(value);
    counter.encode(encoder.encode_descriptor(name, help, None, ConstCounter::<u64>::TYPE)?)
}
