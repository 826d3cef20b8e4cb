//! What is valid in a config, and most likely not what was meant.

use tollgate::layers::{Distribution, OnFailure};
use tollgate_core::{Limit, Name};

use super::{Config, PolicyConfig};

impl Config {
    /// Returns what is valid but most likely a mistake, one sentence each.
    ///
    /// ```
    /// use tollgate_server::Config;
    ///
    /// let text = "[store]\nurl = \"redis://10.0.0.1\"\n[policy.api]\nlimits = [\"gcra 100/s\"]";
    /// assert!(Config::parse(text).unwrap().warnings().is_empty());
    ///
    /// let config = Config::parse(&format!("{text}\non_failure = \"local\"")).unwrap();
    /// assert!(config.warnings()[0].starts_with("policy.api has on_failure = \"local\""));
    /// ```
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let is_unknown = self.store.is_remote() && self.store.nodes.is_none();
        let mut without_nodes = self.policies.iter().filter_map(|policy| {
            let (key, consequence) = needs_nodes(policy)?;
            let name = policy.policy.name();
            Some(format!(
                "policy.{name} has {key} and store.nodes is not set: {consequence}. Set nodes to the number of \
                 servers that share the store"
            ))
        });
        let without_nodes = without_nodes.next().filter(|_| is_unknown);
        without_nodes.into_iter().chain(self.policies.iter().filter_map(forgets_leases)).collect()
    }
}

/// Returns what a new generation of a policy does to leases that are held.
fn forgets_leases(policy: &PolicyConfig) -> Option<String> {
    let has_leases = policy.policy.limits().iter().any(Limit::gives_leases);
    let is_first = policy.generation == Name::FIRST_GENERATION;
    (has_leases && !is_first).then(|| {
        let name = policy.policy.name();
        format!(
            "policy.{name} has a concurrency limit and generation = {}: leases that were taken in another \
             generation are not counted, so that more may be held until the last of them ends",
            policy.generation
        )
    })
}

/// Returns the setting of a policy that depends on the number of servers, if it has one, and what happens if that
/// number is too small.
fn needs_nodes(policy: &PolicyConfig) -> Option<(String, &'static str)> {
    if policy.on_failure == OnFailure::Local {
        let consequence = "while the store is unavailable every server admits the whole limit";
        return Some((String::from("on_failure = \"local\""), consequence));
    }
    (policy.distribution != Distribution::Strict).then(|| {
        let key = format!("distribution = \"{}\"", policy.distribution);
        (key, "the bound on over-admission is stated for one server")
    })
}
