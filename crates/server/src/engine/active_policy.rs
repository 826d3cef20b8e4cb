//! A policy as it is applied: whom it counts, who is held to more or less, and how far it is enforced.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate::Enforce;
use tollgate_core::{Decimal, Limit, LimitError, Name, Policy};
use tollgate_http::Dialect;

use crate::config::{Override, PolicyConfig};
use crate::engine::operation::Keys;
use crate::engine::required_keys::RequiredKeys;
use crate::metrics::OutcomeCounters;

/// What is added to the name of a policy for the candidate that runs beside it.
pub(crate) const CANDIDATE: &str = ".candidate";

/// A policy, and all that is known of it beforehand.
#[derive(Debug)]
pub(crate) struct ActivePolicy {
    policy: Policy,
    enforce: Enforce,
    dialect: Dialect,
    candidate: Option<Policy>,
    /// Factors by subject and key; the nameless subject is "".
    overrides: HashMap<Box<str>, HashMap<Box<[u8]>, Decimal>>,
    required: RequiredKeys,
    /// Each limit as it is written in JSON, with its quotes.
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
            // Nothing is counted where it is off.
            candidate: beside(&policy, candidate).filter(|_| enforce != Enforce::Off),
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

    /// The limits that run beside, to be compared.
    pub(crate) fn candidate(&self) -> Option<&Policy> {
        self.candidate.as_ref()
    }

    /// How many keys are held to more or less.
    pub(crate) fn overrides(&self) -> usize {
        self.overrides.values().map(HashMap::len).sum()
    }

    pub(crate) fn counts(&self) -> &Arc<OutcomeCounters> {
        &self.counts
    }

    /// The line of a limit, in JSON.
    pub(crate) fn line(&self, place: usize) -> &str {
        self.lines.get(place).map_or("null", AsRef::as_ref)
    }

    /// The limits for someone who is held to more or less; `None` if they are as they are.
    ///
    /// # Errors
    /// If a limit cannot be scaled so.
    pub(crate) fn scaled(
        &self,
        keys: &Keys<'_>,
        factor: Option<Decimal>,
    ) -> Result<Option<Box<[Limit]>>, LimitError> {
        self.scale(self.policy.limits(), keys, factor)
    }

    /// The same of the candidate. One that cannot be scaled runs as it is: it must not be in anyone's way.
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

    /// What is said of whom this limit counts. Only their own limits are scaled: one that others share
    /// must not become wider for them because of one who does.
    fn factor_of(&self, limit: &Limit, keys: &Keys<'_>) -> Option<Decimal> {
        let kind = limit.per().map(Name::as_str);
        let keys_of_kind = self.overrides.get(kind.unwrap_or(""))?;
        keys_of_kind.get(keys.of(kind)?.as_bytes()).copied()
    }
}

fn beside(policy: &Policy, limits: Vec<Limit>) -> Option<Policy> {
    if limits.is_empty() {
        return None;
    }
    // Whoever sets a name sees to it that there is room for this; without it they would count together.
    let name = Name::new(&format!("{}{CANDIDATE}", policy.name().as_str())).ok()?;
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
