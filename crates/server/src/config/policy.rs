//! `[policy.NAME]`: the limits of a policy and how they are applied.

use std::num::NonZeroUsize;

use tollgate::Enforce;
use tollgate::layers::{Distribution, OnFailure};
use tollgate_core::{Limit, MAX_NAME_BYTES, Name, Policy};
use tollgate_http::Dialect;

use super::diagnostics::{Diagnostics, quoted};
use super::overrides::{self, Override};
use super::value::{Table, Value};
use super::{limit_list, store};
use crate::policy::required_keys::RequiredKeys;
use crate::policy::{CANDIDATE_SUFFIX, INLINE_POLICY, unit_of_candidate_alone};

/// Maximum number of policies in a file.
const MAX_POLICIES: usize = 10_000;

/// A policy and how the server applies it.
///
/// ```
/// use tollgate_server::{Enforce, Name, Policy, PolicyConfig, Server};
///
/// let login = Policy::parse(Name::new("login")?, ["gcra 10/min per ip"])?;
/// let mut login = PolicyConfig::new(login);
/// // Observe it before it denies anything.
/// login.enforce = Enforce::Shadow;
/// let server = Server::builder().policy(login.clone()).threads(1).start()?;
/// login.enforce = Enforce::On;
/// server.set_policies(&[login])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PolicyConfig {
    /// The name and the limits of the policy.
    pub policy: Policy,
    /// Whether requests that the limits deny are rejected.
    pub enforce: Enforce,
    /// Limits that are evaluated alongside the policy. Only the differences are reported. They may not
    /// need keys, or costs of a unit, that the limits of the policy do not need.
    pub candidate: Vec<Limit>,
    /// Keys with limits of their own, at most one override for each key.
    pub overrides: Vec<Override>,
    /// The rate limit headers of HTTP responses.
    pub headers: Dialect,
    /// What a check returns while a remote store is unavailable.
    pub on_failure: OnFailure,
    /// Who decides the checks: a remote store, or the server from what it knows. Only [`Distribution::Strict`]
    /// is possible for limits of different subjects; see [`Distribution::is_possible_for`] for others.
    pub distribution: Distribution,
    /// Another number forgets all state of the policy.
    pub generation: u32,
    /// Maximum number of its states in a store in memory, within that of the store. Its candidate has as many of its
    /// own.
    pub max_keys: Option<NonZeroUsize>,
}

impl PolicyConfig {
    /// Creates the config of a policy that has only limits; all else has its default.
    #[must_use]
    pub fn new(policy: Policy) -> PolicyConfig {
        PolicyConfig {
            policy,
            enforce: Enforce::default(),
            candidate: Vec::new(),
            overrides: Vec::new(),
            headers: Dialect::default(),
            on_failure: OnFailure::default(),
            distribution: Distribution::default(),
            generation: Name::FIRST_GENERATION,
            max_keys: None,
        }
    }

    /// Reads one policy. Returns `None` if its name or its limits are invalid.
    pub(super) fn read(
        diagnostics: &mut Diagnostics<'_>,
        name: &str,
        value: &Value<'_>,
        is_remote: bool,
    ) -> Option<PolicyConfig> {
        let name = valid_name(diagnostics, name, value);
        let mut table = value.table(diagnostics)?;
        let limits = limits(diagnostics, &mut table, is_remote);
        let known = limits.clone().unwrap_or_default();
        let mut config = PolicyConfig::new(Policy::new(name.clone().unwrap_or_default(), known));
        let required = limits.as_deref().map(RequiredKeys::of);
        if let Some(value) = table.take("candidate") {
            config.candidate = limit_list::read(diagnostics, &value, is_remote).unwrap_or_default();
            config.check_candidate(diagnostics, &value, required.as_ref());
        }
        if let Some(value) = table.take("overrides") {
            let limits = config.policy.limits();
            config.overrides = overrides::read(diagnostics, &value, limits, required.as_ref());
        }
        config.read_options(diagnostics, &mut table);
        table.finish(diagnostics);
        name.and(limits).map(|_| config)
    }

    /// Checks that the keys and costs a client sends for the policy are enough for the candidate.
    fn check_candidate(
        &self,
        diagnostics: &mut Diagnostics<'_>,
        value: &Value<'_>,
        required: Option<&RequiredKeys>,
    ) {
        let uncounted = |required: &RequiredKeys| {
            self.candidate.iter().find_map(|limit| required.missing_for(limit))
        };
        if let Some(subject) = required.and_then(uncounted) {
            value.error(diagnostics, || {
                format!("counts {subject}; expected only subjects that the limits also count")
            });
        }
        let is_known = required.is_some();
        let unit = unit_of_candidate_alone(&self.candidate, self.policy.limits());
        if let Some(unit) = unit.filter(|_| is_known) {
            value.error(diagnostics, || {
                format!("takes costs of {unit}; expected only units that the limits also take")
            });
        }
        let max = MAX_NAME_BYTES - CANDIDATE_SUFFIX.len();
        if !self.candidate.is_empty() && self.policy.name().as_str().len() > max {
            let message = format!(
                "the name of a policy with a candidate has at most {max} bytes, since the candidate \
                 is stored under the name with {CANDIDATE_SUFFIX} appended"
            );
            diagnostics.error(value.at(), message);
        }
    }

    /// Reads how the policy is enforced, reported and distributed.
    fn read_options(&mut self, diagnostics: &mut Diagnostics<'_>, table: &mut Table<'_>) {
        if let Some(value) = table.take("enforce") {
            self.enforce = enforce(diagnostics, &value).unwrap_or_default();
        }
        if let Some(value) = table.take("headers") {
            let choices = Dialect::ALL.map(|dialect| (dialect.name(), dialect));
            self.headers = value.choice(diagnostics, &choices).unwrap_or_default();
        }
        self.read_distribution(diagnostics, table);
        if let Some(value) = table.take("on_failure") {
            let choices = OnFailure::ALL.map(|mode| (mode.name(), mode));
            self.on_failure = value.choice(diagnostics, &choices).unwrap_or_default();
        }
        if let Some(value) = table.take("generation") {
            let generation = value.whole(diagnostics, 0..=u64::from(u32::MAX));
            let generation = generation.and_then(|number| u32::try_from(number).ok());
            self.generation = generation.unwrap_or(self.generation);
        }
        self.max_keys = store::max_keys(diagnostics, table);
    }
}

impl From<Policy> for PolicyConfig {
    /// Applies the policy with the default options.
    fn from(policy: Policy) -> PolicyConfig {
        PolicyConfig::new(policy)
    }
}

/// Returns the policies of a file with their names, or `None` if there are too many.
pub(super) fn named<'a>(
    diagnostics: &mut Diagnostics<'_>,
    value: &Value<'a>,
) -> Option<Vec<(&'a str, Value<'a>)>> {
    let policies = value.table(diagnostics)?.all();
    if policies.len() > MAX_POLICIES {
        let count = policies.len();
        value.error(diagnostics, || format!("has {count} tables; expected at most {MAX_POLICIES}"));
        return None;
    }
    Some(policies)
}

/// Checks the name of a policy.
fn valid_name(diagnostics: &mut Diagnostics<'_>, text: &str, value: &Value<'_>) -> Option<Name> {
    let at = value.at();
    let reserved_for = if text == INLINE_POLICY {
        Some("the command CL.THROTTLE")
    } else if text.ends_with(CANDIDATE_SUFFIX) {
        Some("the candidate of another policy")
    } else {
        None
    };
    if let Some(user) = reserved_for {
        diagnostics.error(at, format!("policy name {} is reserved for {user}", quoted(text)));
        return None;
    }
    Name::new(text).map_err(|error| diagnostics.error(at, format!("policy: {error}"))).ok()
}

/// Reads the limits. Returns `None` if there is an error in them.
fn limits(
    diagnostics: &mut Diagnostics<'_>,
    table: &mut Table<'_>,
    is_remote: bool,
) -> Option<Vec<Limit>> {
    let value = table.take("limits");
    let Some(value) = value else {
        let path = table.path();
        let message = format!("missing key {path}.limits; expected limits = [\"…\"]");
        diagnostics.missing(table.at(), message);
        return None;
    };
    let limits = limit_list::read(diagnostics, &value, is_remote)?;
    if limits.is_empty() {
        // A policy without limits would allow every request.
        value.unexpected(diagnostics, "empty", "at least one limit");
        return None;
    }
    Some(limits)
}

fn enforce(diagnostics: &mut Diagnostics<'_>, value: &Value<'_>) -> Option<Enforce> {
    /// Longer than any valid value.
    const MAX_BYTES: usize = 64;
    let expected = "on, shadow, silent, off or a percentage such as \"25%\"";
    let text = value.text(diagnostics, expected)?;
    if text.len() > MAX_BYTES {
        value.unexpected(diagnostics, &quoted(text), expected);
        return None;
    }
    text.parse()
        .map_err(|error: tollgate::ParseEnforceError| {
            diagnostics.error(value.at(), error.to_string());
        })
        .ok()
}
