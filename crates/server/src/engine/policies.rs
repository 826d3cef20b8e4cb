//! All policies, by their names.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_core::MAX_NAME_BYTES;

use crate::config::PolicyConfig;
use crate::engine::active_policy::{ActivePolicy, CANDIDATE};
use crate::engine::required_keys::RequiredKeys;
use crate::metrics::OutcomeCounters;
use crate::resp;

/// How many names an error tells at most.
const NAMED_IN_ERRORS: usize = 20;

/// All policies that can be asked for.
#[derive(Debug, Default)]
pub(crate) struct Policies(BTreeMap<Box<str>, Arc<ActivePolicy>>);

impl Policies {
    /// Those of a config. What was counted of them before goes on.
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

    /// The policy of that name.
    ///
    /// # Errors
    /// Which ones there are.
    pub(crate) fn find(&self, name: &[u8]) -> Result<&ActivePolicy, String> {
        let known = std::str::from_utf8(name).ok().and_then(|name| self.0.get(name));
        known.map(AsRef::as_ref).ok_or_else(|| self.unknown(name))
    }

    #[cold]
    fn unknown(&self, name: &[u8]) -> String {
        let name = crate::error::excerpt_lossy(name);
        let known = self.0.keys().take(NAMED_IN_ERRORS).map(AsRef::as_ref).collect::<Vec<_>>();
        match known.as_slice() {
            [] => format!(
                "unknown policy '{name}': this server has none; start it with --limit or --config"
            ),
            known => format!("unknown policy '{name}': expected one of {}", known.join(", ")),
        }
    }

    /// All of them, in the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ActivePolicy> {
        self.0.values().map(AsRef::as_ref)
    }
}

/// Why a policy cannot be set, if that is so. Whoever has it from a config file has heard it there.
pub(crate) fn mistake(config: &PolicyConfig) -> Option<String> {
    let name = config.policy.name().as_str();
    if name == resp::CL_THROTTLE || name.ends_with(CANDIDATE) {
        return Some(format!("a policy cannot be called {name}"));
    }
    let required = RequiredKeys::of(config.policy.limits());
    if let Some(who) = config.candidate.iter().find_map(|limit| required.cannot_count(limit)) {
        return Some(format!("the candidate of {name} counts {who}, and its limits do not"));
    }
    let longest = MAX_NAME_BYTES - CANDIDATE.len();
    let is_long = !config.candidate.is_empty() && name.len() > longest;
    is_long
        .then(|| format!("policy {name} has a candidate, so its name has at most {longest} bytes"))
}
