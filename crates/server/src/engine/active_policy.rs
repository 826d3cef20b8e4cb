//! A policy as it is served: its limits, overrides, candidate and enforcement.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::Arc;

use tollgate::Enforce;
use tollgate::layers::{Distribution, OnFailure, PolicyLayers};
use tollgate_core::remote::LimitParams as _;
use tollgate_core::{Limit, Name, Policy, Request, RequestError, Time};
use tollgate_http::Dialect;

use crate::config::{Override, PolicyConfig};
use crate::engine::counts::OutcomeCounters;
use crate::engine::overrides::Overrides;
use crate::policy::CANDIDATE_SUFFIX;
use crate::policy::required_keys::RequiredKeys;

/// A policy that clients can ask for, with everything that can be computed in advance.
#[derive(Debug)]
pub(crate) struct ActivePolicy {
    policy: Policy,
    generation: u32,
    max_keys: Option<NonZeroUsize>,
    /// The name that its state is kept under.
    state_name: Name,
    /// A policy without limits while enforcement is off: nothing is counted then.
    off: Option<Policy>,
    enforce: Enforce,
    dialect: Dialect,
    on_failure: OnFailure,
    distribution: Distribution,
    candidate: Option<Policy>,
    overrides: Overrides,
    candidate_overrides: Overrides,
    /// Number of keys with an override.
    override_count: usize,
    required: RequiredKeys,
    /// Each limit that is counted as a JSON string.
    lines: Box<[Box<str>]>,
    counts: Arc<OutcomeCounters>,
}

/// The limits of a policy for one operation, after overrides and factor.
#[derive(Debug)]
pub(crate) struct ChangedLimits {
    pub(crate) limits: Vec<Limit>,
    /// Those of the candidate, if there is one.
    pub(crate) candidate: Vec<Limit>,
}

impl ActivePolicy {
    pub(crate) fn new(config: PolicyConfig, counts: Arc<OutcomeCounters>) -> ActivePolicy {
        let PolicyConfig { policy, enforce, candidate, overrides, headers, generation, .. } =
            config;
        let line = |limit: &Limit| serde_json::Value::from(limit.to_string()).to_string().into();
        let off = (enforce == Enforce::Off).then(|| Policy::new(policy.name().clone(), Vec::new()));
        // Overrides fit: that is checked when a policy is set.
        let replace = |one: &Override| one.replace(policy.limits()).unwrap_or_default();
        let replace_candidate = |one: &Override| one.replace_candidate(&candidate);
        ActivePolicy {
            enforce,
            dialect: headers,
            on_failure: config.on_failure,
            distribution: config.distribution,
            candidate_overrides: Overrides::new(candidate.len(), &overrides, replace_candidate),
            overrides: Overrides::new(policy.limits().len(), &overrides, replace),
            override_count: overrides.len(),
            required: RequiredKeys::of(policy.limits()),
            lines: off.as_ref().unwrap_or(&policy).limits().iter().map(line).collect(),
            candidate: candidate_policy(&policy, generation, candidate).filter(|_| off.is_none()),
            generation,
            max_keys: config.max_keys,
            state_name: policy.name().of_generation(generation),
            policy,
            off,
            counts,
        }
    }

    /// Returns the policy as it is configured.
    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the policy with the limits that are counted: none while enforcement is off.
    pub(crate) fn applied(&self) -> &Policy {
        self.off.as_ref().unwrap_or(&self.policy)
    }

    pub(crate) fn name(&self) -> &Name {
        self.policy.name()
    }

    /// Returns the name that its state is kept under, which is another in each generation.
    pub(crate) fn state_name(&self) -> &Name {
        &self.state_name
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns the maximum number of its states in memory, if it has one.
    pub(crate) fn max_keys(&self) -> Option<NonZeroUsize> {
        self.max_keys
    }

    pub(crate) fn enforce(&self) -> Enforce {
        self.enforce
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(crate) fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    pub(crate) fn distribution(&self) -> Distribution {
        self.distribution
    }

    /// Returns how much more than one of its limits all nodes together may admit to a key.
    pub(crate) fn max_over_admission(&self, nodes: u32) -> u64 {
        let beyond = |limit| self.distribution.max_over_admission(limit, nodes);
        self.applied().limits().iter().map(beyond).max().unwrap_or_default()
    }

    /// Returns whether its checks fail while the store is unavailable: it chose that, or it has a limit that
    /// only the store can decide.
    pub(crate) fn fails_without_store(&self) -> bool {
        let limits = self.applied().limits();
        let is_counted = limits.iter().any(|limit| limit.capacity().is_some());
        let denies = is_counted && self.on_failure == OnFailure::Deny;
        denies || limits.iter().any(Limit::gives_leases)
    }

    /// Returns whether a limit counts in windows of the calendar.
    pub(crate) fn counts_by_calendar(&self) -> bool {
        let mut limits = self.applied().limits().iter();
        limits.any(|limit| limit.windows_around(Time::EPOCH).is_some())
    }

    /// Returns what the layers do for it, and for its candidate, whose decisions are compared with its own.
    pub(crate) fn layers(&self) -> impl Iterator<Item = (Name, PolicyLayers)> {
        let layers = PolicyLayers::default()
            .with_on_failure(self.on_failure)
            .with_distribution(self.distribution);
        let candidate = self.candidate.as_ref().map(Policy::name);
        let names = [Some(&self.state_name), candidate].into_iter().flatten();
        names.map(move |name| (name.clone(), layers))
    }

    pub(crate) fn required(&self) -> &RequiredKeys {
        &self.required
    }

    /// Returns the candidate's policy.
    pub(crate) fn candidate(&self) -> Option<&Policy> {
        self.candidate.as_ref()
    }

    /// Returns the number of keys with an override.
    pub(crate) fn overrides(&self) -> usize {
        self.override_count
    }

    pub(crate) fn counts(&self) -> &Arc<OutcomeCounters> {
        &self.counts
    }

    /// Returns a limit that is counted as a JSON string.
    pub(crate) fn line(&self, position: usize) -> &str {
        self.lines.get(position).map_or("null", AsRef::as_ref)
    }

    /// Returns the limits after the overrides of these keys and the factor; `None` if neither changes them.
    ///
    /// # Errors
    /// Fails if a limit cannot be scaled by such a factor.
    pub(crate) fn changed(
        &self,
        request: &Request<'_>,
    ) -> Result<Option<ChangedLimits>, RequestError> {
        let limits = self.overrides.apply(self.applied().limits(), request);
        let limits = scaled(limits, request)?;
        let candidate = self.candidate.as_ref().map_or(&[][..], Policy::limits);
        let candidate = self.candidate_overrides.apply(candidate, request);
        // A candidate must not make operations fail: if it cannot be scaled, it stays as it is.
        let candidate = scaled(candidate.clone(), request).unwrap_or(candidate);
        Ok(match (limits, candidate) {
            (Cow::Borrowed(_), Cow::Borrowed(_)) => None,
            (limits, candidate) => Some(ChangedLimits {
                limits: limits.into_owned(),
                candidate: candidate.into_owned(),
            }),
        })
    }
}

/// Scales limits by the factor of a request.
fn scaled<'l>(
    limits: Cow<'l, [Limit]>,
    request: &Request<'_>,
) -> Result<Cow<'l, [Limit]>, RequestError> {
    if let Cow::Owned(scaled) = request.limits(&limits)? {
        return Ok(Cow::Owned(scaled));
    }
    Ok(limits)
}

/// Returns the candidate's policy, whose name is the one that its state is kept under.
fn candidate_policy(policy: &Policy, generation: u32, limits: Vec<Limit>) -> Option<Policy> {
    if limits.is_empty() {
        return None;
    }
    // The name fits: that is checked when a policy is set. Under the same name they would count together.
    let name = Name::new(&format!("{}{CANDIDATE_SUFFIX}", policy.name().as_str())).ok()?;
    Some(Policy::new(name.of_generation(generation), limits))
}
