//! `[policy.NAME]`: limits that are checked together, and how.

use tollgate::Enforce;
use tollgate_core::{Limit, MAX_NAME_BYTES, Name, Policy};
use tollgate_http::Dialect;

use super::diagnostics::{Diagnostics, repeated};
use super::lines;
use super::overrides::{self, Override};
use super::read::{Table, Value};
use crate::policy::CANDIDATE_SUFFIX;
use crate::policy::INLINE_POLICY;
use crate::policy::required_keys::RequiredKeys;

/// The most policies of a file.
const MAX_POLICIES: usize = 10_000;

/// Where counts are shared, and whether that is acted on.
const DISTRIBUTION: [(&str, bool); 3] =
    [("strict", true), ("write-behind", false), ("lease", false)];
/// What is answered when the store is not, and whether that is acted on: it is an error, and so a denial.
const ON_FAILURE: [(&str, bool); 3] = [("allow", false), ("deny", true), ("local", false)];

/// A policy, and how it is applied.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PolicyConfig {
    /// Its name and its limits.
    pub policy: Policy,
    /// What becomes of those whom it would turn away.
    pub enforce: Enforce,
    /// Limits that run beside it, of which only the differences are told. They need no keys that
    /// the policy does not.
    pub candidate: Vec<Limit>,
    /// Who is held to more or less than others, each once.
    pub overrides: Vec<Override>,
    /// How its limits are told over HTTP.
    pub headers: Dialect,
}

impl PolicyConfig {
    /// A policy that is applied as if nothing were said of it.
    #[must_use]
    pub fn new(policy: Policy) -> PolicyConfig {
        PolicyConfig {
            policy,
            enforce: Enforce::default(),
            candidate: Vec::new(),
            overrides: Vec::new(),
            headers: Dialect::default(),
        }
    }

    /// Reads one of them; `None` if it is no policy at all.
    pub(super) fn read(
        found: &mut Diagnostics<'_>,
        name: &str,
        value: &Value<'_>,
        is_remote: bool,
    ) -> Option<PolicyConfig> {
        let name = named_well(found, name, value);
        let mut table = value.table(found)?;
        let limits = limits(found, &mut table, is_remote);
        let known = limits.clone().unwrap_or_default();
        let mut config = PolicyConfig::new(Policy::new(name.clone().unwrap_or_default(), known));
        let required = limits.as_deref().map(RequiredKeys::of);
        if let Some(value) = table.take("candidate") {
            config.candidate = lines::read(found, &value, is_remote).unwrap_or_default();
            config.check_candidate(found, &value, required.as_ref());
        }
        if let Some(value) = table.take("overrides") {
            let limits = config.policy.limits();
            config.overrides = overrides::read(found, &value, limits, required.as_ref());
        }
        config.how(found, &mut table);
        table.finish(found);
        name.and(limits).map(|_| config)
    }

    /// Whoever operations sends what the policy counts, and that must be enough for both.
    fn check_candidate(
        &self,
        found: &mut Diagnostics<'_>,
        value: &Value<'_>,
        required: Option<&RequiredKeys>,
    ) {
        let uncounted = |required: &RequiredKeys| {
            self.candidate.iter().find_map(|limit| required.missing_for(limit))
        };
        if let Some(who) = required.and_then(uncounted) {
            let path = value.path();
            let what = format!("{path} counts {who}; expected only whom the limits count as well");
            found.mistake(value.at(), what);
        }
        let most = MAX_NAME_BYTES - CANDIDATE_SUFFIX.len();
        if !self.candidate.is_empty() && self.policy.name().as_str().len() > most {
            let what = format!(
                "a policy with a candidate has a name of at most {most} bytes, since the candidate \
                 counts under it with {CANDIDATE_SUFFIX} at its end"
            );
            found.mistake(value.at(), what);
        }
    }

    /// How it is enforced, told and shared.
    fn how(&mut self, found: &mut Diagnostics<'_>, table: &mut Table<'_>) {
        if let Some(value) = table.take("enforce") {
            self.enforce = enforce(found, &value).unwrap_or_default();
        }
        if let Some(value) = table.take("headers") {
            let words = Dialect::ALL.map(|dialect| (dialect.name(), dialect));
            self.headers = value.word(found, &words).unwrap_or_default();
        }
        for (word, known) in [("distribution", &DISTRIBUTION), ("on_failure", &ON_FAILURE)] {
            let later = |value: &Value<'_>| value.word(found, known) == Some(false);
            if let Some(value) = table.take(word).filter(later) {
                found.not_yet(value.at(), value.path());
            }
        }
    }
}

impl From<Policy> for PolicyConfig {
    /// Applied as if nothing were said of it.
    fn from(policy: Policy) -> PolicyConfig {
        PolicyConfig::new(policy)
    }
}

/// The policies of a file, by their names. `None` if there are too many.
pub(super) fn named<'a>(
    found: &mut Diagnostics<'_>,
    value: &Value<'a>,
) -> Option<Vec<(&'a str, Value<'a>)>> {
    let policies = value.table(found)?.all();
    if policies.len() > MAX_POLICIES {
        let is = format!("a table of {} policies", policies.len());
        value.wrong(found, &is, &format!("at most {MAX_POLICIES}"));
        return None;
    }
    Some(policies)
}

/// A name that a policy may have.
fn named_well(found: &mut Diagnostics<'_>, text: &str, value: &Value<'_>) -> Option<Name> {
    let at = value.at();
    let taken_by = if text == INLINE_POLICY {
        Some("the limits of the command CL.THROTTLE count under that name")
    } else if text.ends_with(CANDIDATE_SUFFIX) {
        Some("the candidate of another policy may count under that name")
    } else {
        None
    };
    if let Some(why) = taken_by {
        found.mistake(at, format!("a policy cannot be called {}: {why}", repeated(text)));
        return None;
    }
    Name::new(text).map_err(|unfit| found.mistake(at, format!("policy: {unfit}"))).ok()
}

/// The limits, if there is no mistake in them.
fn limits(
    found: &mut Diagnostics<'_>,
    table: &mut Table<'_>,
    is_remote: bool,
) -> Option<Vec<Limit>> {
    let value = table.take("limits");
    let Some(value) = value else {
        let what = format!("{} has no limits; expected limits = [\"…\"]", table.path());
        found.missing(table.at(), what);
        return None;
    };
    let limits = lines::read(found, &value, is_remote)?;
    if limits.is_empty() {
        found.mistake(value.at(), format!("{} is empty, so that all would pass", value.path()));
        return None;
    }
    Some(limits)
}

fn enforce(found: &mut Diagnostics<'_>, value: &Value<'_>) -> Option<Enforce> {
    /// What is longer than any of it.
    const MAX_BYTES: usize = 64;
    let expected = "on, shadow, silent, off or a share such as \"25%\"";
    let text = value.text(found, expected)?;
    if text.len() > MAX_BYTES {
        value.wrong(found, &repeated(text), expected);
        return None;
    }
    text.parse()
        .map_err(|error: tollgate::ParseEnforceError| found.mistake(value.at(), error.to_string()))
        .ok()
}
