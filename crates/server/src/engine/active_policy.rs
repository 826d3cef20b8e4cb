//! A policy as it is served: its limits, overrides, candidate and enforcement.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate::Enforce;
use tollgate_core::{Decimal, Limit, LimitError, Name, Policy};
use tollgate_http::Dialect;

use crate::config::{Override, PolicyConfig};
use crate::engine::counts::OutcomeCounters;
use crate::engine::keys::Keys;
use crate::policy::CANDIDATE_SUFFIX;
use crate::policy::required_keys::RequiredKeys;

/// A policy that clients can ask for, with everything that can be computed in advance.
#[derive(Debug)]
pub(crate) struct ActivePolicy {
    policy: Policy,
    enforce: Enforce,
    dialect: Dialect,
    candidate: Option<Policy>,
    /// Factors by the name of the subject and the key; the nameless subject is "".
    overrides: HashMap<Box<str>, HashMap<Box<[u8]>, Decimal>>,
    required: RequiredKeys,
    /// Each limit as a JSON string.
    lines: Box<[Box<str>]>,
    counts: Arc<OutcomeCounters>,
}

impl ActivePolicy {
    pub(crate) fn new(config: PolicyConfig, counts: Arc<OutcomeCounters>) -> ActivePolicy {
        let PolicyConfig { policy, enforce, candidate, overrides, headers, .. } = config;
        let line = |limit: &Limit| serde_json::Value::from(limit.to_string()).to_string().into();
        ActivePolicy {
            enforce,
            dialect: headers,
            // Nothing is counted while enforcement is off.
            candidate: candidate_policy(&policy, candidate).filter(|_| enforce != Enforce::Off),
            overrides: by_subject(overrides),
            required: RequiredKeys::of(policy.limits()),
            lines: policy.limits().iter().map(line).collect(),
            policy,
            counts,
        }
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn name(&self) -> &Name {
        self.policy.name()
    }

    pub(crate) fn enforce(&self) -> Enforce {
        self.enforce
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
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
        self.overrides.values().map(HashMap::len).sum()
    }

    pub(crate) fn counts(&self) -> &Arc<OutcomeCounters> {
        &self.counts
    }

    /// Returns a limit as a JSON string.
    pub(crate) fn line(&self, position: usize) -> &str {
        self.lines.get(position).map_or("null", AsRef::as_ref)
    }

    /// Returns the limits after the overrides of these keys and the factor; `None` if neither changes them.
    ///
    /// # Errors
    /// Fails if a limit cannot be scaled by such a factor.
    pub(crate) fn scaled(
        &self,
        keys: &Keys<'_>,
        factor: Option<Decimal>,
    ) -> Result<Option<Box<[Limit]>>, LimitError> {
        self.scale(self.policy.limits(), keys, factor)
    }

    /// Returns the candidate's limits after overrides and factor. If they cannot be scaled, they stay as they
    /// are: a candidate must not make operations fail.
    pub(crate) fn scaled_candidate(
        &self,
        keys: &Keys<'_>,
        factor: Option<Decimal>,
    ) -> Option<Box<[Limit]>> {
        self.scale(self.candidate.as_ref()?.limits(), keys, factor).ok()?
    }

    fn scale(
        &self,
        limits: &[Limit],
        keys: &Keys<'_>,
        factor: Option<Decimal>,
    ) -> Result<Option<Box<[Limit]>>, LimitError> {
        if factor.is_none() && self.overrides.is_empty() {
            return Ok(None);
        }
        let own: Vec<_> = limits.iter().map(|limit| self.factor_of(limit, keys)).collect();
        if factor.is_none() && own.iter().all(Option::is_none) {
            return Ok(None);
        }
        let scale = |(limit, own): (&Limit, Option<Decimal>)| {
            let mut scaled = limit.clone();
            for factor in own.into_iter().chain(factor) {
                scaled = scaled.scaled(factor)?;
            }
            Ok(scaled)
        };
        limits.iter().zip(own).map(scale).collect::<Result<_, _>>().map(Some)
    }

    /// Returns the override of the key that this limit counts. Only limits that count the key itself are
    /// scaled: a limit that others share must not become wider for them.
    fn factor_of(&self, limit: &Limit, keys: &Keys<'_>) -> Option<Decimal> {
        let subject = limit.per().map(Name::as_str);
        let overrides = self.overrides.get(subject.unwrap_or(""))?;
        overrides.get(keys.of(subject)?.as_bytes()).copied()
    }
}

fn candidate_policy(policy: &Policy, limits: Vec<Limit>) -> Option<Policy> {
    if limits.is_empty() {
        return None;
    }
    // The name fits: that is checked when a policy is set. Under the same name they would count together.
    let name = Name::new(&format!("{}{CANDIDATE_SUFFIX}", policy.name().as_str())).ok()?;
    Some(Policy::new(name, limits))
}

fn by_subject(overrides: Vec<Override>) -> HashMap<Box<str>, HashMap<Box<[u8]>, Decimal>> {
    let mut all: HashMap<_, HashMap<_, _>> = HashMap::new();
    for Override { subject, key, factor, .. } in overrides {
        let subject = subject.as_ref().map_or("", Name::as_str);
        all.entry(subject.into()).or_default().insert(key, factor);
    }
    all
}
