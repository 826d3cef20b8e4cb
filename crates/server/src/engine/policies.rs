//! The policies that clients can ask for, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate::layers::PolicyLayers;
use tollgate_core::{MAX_NAME_BYTES, Name};

use crate::config::PolicyConfig;
use crate::engine::active_policy::ActivePolicy;
use crate::engine::counts::OutcomeCounters;
use crate::error::excerpt_lossy;
use crate::policy::required_keys::RequiredKeys;
use crate::policy::{CANDIDATE_SUFFIX, INLINE_POLICY, unit_of_candidate_alone};

/// Maximum number of policies listed in an error or in the log.
const MAX_LISTED: usize = 20;

/// All policies, sorted by name.
#[derive(Debug, Default)]
pub(crate) struct Policies(BTreeMap<Box<str>, Arc<ActivePolicy>>);

impl Policies {
    /// Creates the policies of a config. Policies of the same name as before go on with their counts.
    pub(crate) fn new(
        configs: impl IntoIterator<Item = PolicyConfig>,
        before: &Policies,
        threads: usize,
    ) -> Policies {
        let mut policies = BTreeMap::new();
        for config in configs {
            let name = config.policy.name().as_str();
            let known = before.0.get(name).map(|policy| Arc::clone(policy.counts()));
            let counts = known.unwrap_or_else(|| Arc::new(OutcomeCounters::new(threads)));
            policies.insert(name.into(), Arc::new(ActivePolicy::new(config, counts)));
        }
        Policies(policies)
    }

    /// Returns the policy with this name.
    ///
    /// # Errors
    /// Fails with a message that lists the policies, if there is none.
    pub(crate) fn find(&self, name: &[u8]) -> Result<&ActivePolicy, String> {
        let known = std::str::from_utf8(name).ok().and_then(|name| self.0.get(name));
        known.map(AsRef::as_ref).ok_or_else(|| self.unknown(name))
    }

    #[cold]
    fn unknown(&self, name: &[u8]) -> String {
        let name = excerpt_lossy(name);
        let known = self.0.keys().take(MAX_LISTED).map(AsRef::as_ref).collect::<Vec<_>>();
        match known.as_slice() {
            [] => format!(
                "unknown policy '{name}': this server has none; start it with --limit or --config"
            ),
            known => format!("unknown policy '{name}': expected one of {}", known.join(", ")),
        }
    }

    /// Returns what the layers around a remote store do for each of them.
    pub(crate) fn layers(&self) -> impl Iterator<Item = (Name, PolicyLayers)> {
        self.iter().flat_map(ActivePolicy::layers)
    }

    /// Returns the names of those that count in windows of the calendar, for the log.
    pub(crate) fn names_by_calendar(&self) -> String {
        let by_calendar = self.iter().filter(|policy| policy.counts_by_calendar());
        let names = by_calendar.map(|policy| policy.name().as_str()).take(MAX_LISTED);
        names.collect::<Vec<_>>().join(", ")
    }

    /// Iterates over the policies in the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ActivePolicy> {
        self.0.values().map(AsRef::as_ref)
    }
}

/// Returns why a policy cannot be set, if so. Policies of a config file were checked when it was parsed.
pub(crate) fn check(config: &PolicyConfig) -> Option<String> {
    let name = config.policy.name().as_str();
    if name == INLINE_POLICY || name.ends_with(CANDIDATE_SUFFIX) {
        return Some(format!("policy name {name} is reserved"));
    }
    let required = RequiredKeys::of(config.policy.limits());
    if let Some(what) = config.candidate.iter().find_map(|limit| required.missing_for(limit)) {
        return Some(format!("the candidate of {name} counts {what}, but its limits do not"));
    }
    if let Some(unit) = unit_of_candidate_alone(&config.candidate, config.policy.limits()) {
        return Some(format!(
            "the candidate of {name} takes costs of {unit}, but its limits do not"
        ));
    }
    if let Some(misfit) =
        config.overrides.iter().find_map(|one| one.replace(config.policy.limits()).err())
    {
        return Some(format!("an override of {name}: {}", misfit.message));
    }
    if let Some(misfit) = config.distribution_misfit() {
        return Some(format!("the distribution of {name} {misfit}"));
    }
    let longest = MAX_NAME_BYTES - CANDIDATE_SUFFIX.len();
    let is_long = !config.candidate.is_empty() && name.len() > longest;
    is_long
        .then(|| format!("policy {name} has a candidate, so its name has at most {longest} bytes"))
}
