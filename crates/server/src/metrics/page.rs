//! The page that Prometheus reads.

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
use crate::engine::counts::{Counts, Outcome, Reloads};
use crate::net::connection_limit::ConnectionLimit;
use crate::policy::INLINE_POLICY;

/// What the page is called in `content-type`.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How many policies are told one by one; the rest are told as one, so that the page stays short.
const MAX_POLICIES: usize = 1_000;
/// What the rest go by: no policy can be called this.
const OTHERS: &str = "(others)";

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

/// All that is counted, as it is when somebody looks.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) engine: Arc<Engine>,
    pub(crate) connections: OpenConnections,
}

impl Page {
    /// The page.
    pub(crate) fn write_to(self, page: &mut String) {
        let mut registry = Registry::with_prefix("tollgate");
        registry.register_collector(Box::new(self));
        // Writing to a string cannot fail.
        let _ = text::encode(page, &registry);
    }

    /// The counts of all policies, and of limits that came with their operations.
    fn each(&self, mut with: impl FnMut(&str, &[&Counts]) -> fmt::Result) -> fmt::Result {
        let policies = self.engine.policies();
        let mut all = policies.iter();
        with(INLINE_POLICY, &[&self.engine.inline])?;
        for policy in all.by_ref().take(MAX_POLICIES) {
            with(policy.name().as_str(), &[policy.counts()])?;
        }
        let rest: Vec<&Counts> = all.map(|policy| &**policy.counts()).collect();
        if rest.is_empty() { Ok(()) } else { with(OTHERS, &rest) }
    }

    /// One counter with a line for each policy and each of these outcomes.
    fn outcomes(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help, label): (&str, &str, &str),
        outcomes: &[(&str, Outcome)],
    ) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        self.each(|policy, counts| {
            for (word, outcome) in outcomes {
                let sum = counts.iter().map(|counts| counts.sum(*outcome)).sum::<u64>();
                let labels = [("policy", policy), (label, word)];
                ConstCounter::new(sum).encode(metric.encode_family(&labels)?)?;
            }
            Ok(())
        })
    }

    fn store(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let latency = &self.engine.latency;
        let help =
            "How long the store took to answer what came together; of memory, one call in 64";
        let unit = Some(&prometheus_client::registry::Unit::Seconds);
        let mut metric =
            encoder.encode_descriptor("store_duration", help, unit, MetricType::Histogram)?;
        let buckets = latency.buckets();
        let count = buckets.iter().map(|(_, count)| count).sum();
        metric.encode_histogram::<NoLabelSet>(latency.seconds(), count, &buckets, None)?;
        let up = i64::from(self.engine.is_store_up());
        gauge(encoder, "store_up", "Whether the store answered when it was last asked", up)?;
        let Some(stats) = self.engine.stats() else { return Ok(()) };
        let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        gauge(encoder, "keys", "States kept in memory", whole(stats.keys))?;
        gauge(
            encoder,
            "keys_limit",
            "Maximum number of states kept in memory",
            whole(stats.max_keys),
        )?;
        let help = "Operations on new keys that were answered by when_full";
        counter(encoder, "keys_rejected", help, stats.rejected)
    }

    fn reloads(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Reloads { success, failure } = &self.engine.reloads;
        let help = "How often the config was read anew";
        let mut metric = encoder.encode_descriptor("reloads", help, None, MetricType::Counter)?;
        for (word, number) in [("success", success), ("failure", failure)] {
            let (labels, number) = ([("outcome", word)], number.load(Ordering::Relaxed));
            ConstCounter::new(number).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn connections(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Connections that are open";
        let mut metric = encoder.encode_descriptor("connections", help, None, MetricType::Gauge)?;
        for (protocol, limit) in self.connections.iter() {
            let (labels, open) = ([("protocol", protocol)], i64::try_from(limit.open()));
            let open = ConstGauge::new(open.unwrap_or(i64::MAX));
            open.encode(metric.encode_family(&labels)?)?;
        }
        let (name, help) =
            ("connections_refused", "Connections refused because the limit was reached");
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (protocol, limit) in self.connections.iter() {
            let labels = [("protocol", protocol)];
            ConstCounter::new(limit.refused()).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        self.outcomes(
            encoder,
            ("decisions", "Checks and reservations, by what became of them", "outcome"),
            &[
                ("allowed", Outcome::Allowed),
                ("denied", Outcome::Denied),
                ("shadow_denied", Outcome::ShadowDenied),
                ("failed", Outcome::Failed),
            ],
        )?;
        self.outcomes(
            encoder,
            ("candidate_differences", "Where the candidate said otherwise", "candidate"),
            &[("stricter", Outcome::Stricter), ("looser", Outcome::Looser)],
        )?;
        self.store(encoder)?;
        self.reloads(encoder)?;
        self.connections(encoder)?;
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        let mut metric = encoder.encode_descriptor("build", "What runs", None, MetricType::Info)?;
        metric.encode_info(&version)
    }
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: i64) -> fmt::Result {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, None, ConstGauge::<i64>::TYPE)?)
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let counter = ConstCounter::new(value);
    counter.encode(encoder.encode_descriptor(name, help, None, ConstCounter::<u64>::TYPE)?)
}
