//! `distribution` of a policy: who decides its checks, and the keys that belong to one distribution only.

use tollgate::Percentage;
use tollgate::layers::{Distribution, FirstRead, Prefetch, WriteBehind};
use tollgate_core::Limit;

use super::diagnostics::Diagnostics;
use super::duration;
use super::policy::PolicyConfig;
use super::value::{Table, Value, join_or};

/// Longest interval between two writes. What is unwritten is unknown to the other nodes.
const MAX_FLUSH: &str = "1s";
/// A percentage that would leave nothing to decide locally.
const NOTHING: Percentage = Percentage::whole(0);

/// Returns all distributions, with their default settings.
fn all() -> [Distribution; 3] {
    let (write_behind, prefetch) = (WriteBehind::default(), Prefetch::default());
    [
        Distribution::Strict,
        Distribution::WriteBehind(write_behind),
        Distribution::Prefetch(prefetch),
    ]
}

impl PolicyConfig {
    /// Reads `distribution` and its settings, and checks that the limits can be decided so.
    pub(super) fn read_distribution(
        &mut self,
        diagnostics: &mut Diagnostics<'_>,
        table: &mut Table<'_>,
    ) {
        let value = table.take("distribution");
        let choices = all().map(|one| (one.name(), one));
        let choice = |value: &Value<'_>| value.choice(diagnostics, &choices).unwrap_or_default();
        let chosen = value.as_ref().map(choice);
        let mut keys = Keys { diagnostics, table, chosen };
        let (write_behind, prefetch) = (keys.write_behind(), keys.prefetch());
        self.distribution = match chosen {
            Some(Distribution::WriteBehind(_)) => Distribution::WriteBehind(write_behind),
            Some(Distribution::Prefetch(_)) => Distribution::Prefetch(prefetch),
            _ => Distribution::Strict,
        };
        if let Some((value, misfit)) = value.zip(self.distribution_misfit()) {
            value.error(diagnostics, || misfit);
        }
    }

    /// Returns why the limits cannot be decided by the distribution, if so. The store would have to decide
    /// every check of them.
    pub(crate) fn distribution_misfit(&self) -> Option<String> {
        let (distribution, limits) = (self.distribution, self.policy.limits());
        if let Some(limit) = limits.iter().find(|limit| !distribution.is_possible_for(limit)) {
            let possible = all().into_iter().filter(|one| one.is_possible_for(limit));
            let expected = join_or(possible.map(Distribution::name));
            return Some(format!("is \"{distribution}\"; expected {expected} for \"{limit}\""));
        }
        let subjects = || limits.iter().map(Limit::per);
        let is_one = subjects().zip(subjects().skip(1)).all(|(one, next)| one == next);
        (distribution != Distribution::Strict && !is_one).then(|| {
            format!("is \"{distribution}\"; expected strict for limits of different subjects")
        })
    }
}

/// The keys of a policy that belong to one distribution.
struct Keys<'k, 't, 'a> {
    diagnostics: &'k mut Diagnostics<'t>,
    table: &'k mut Table<'a>,
    /// What the policy chooses; `None` if it does not say.
    chosen: Option<Distribution>,
}

impl<'a> Keys<'_, '_, 'a> {
    fn write_behind(&mut self) -> WriteBehind {
        let mut settings = WriteBehind::default();
        let owner = Distribution::WriteBehind(settings);
        if let Some(value) = self.take("flush", owner) {
            let flush = duration::read(self.diagnostics, &value, MAX_FLUSH);
            settings.flush = flush.unwrap_or(settings.flush);
        }
        settings.cap = self.percentage("cap", owner).unwrap_or(settings.cap);
        if let Some(value) = self.take("read", owner) {
            let choices = FirstRead::ALL.map(|read| (read.name(), read));
            settings.read = value.choice(self.diagnostics, &choices).unwrap_or_default();
        }
        settings
    }

    fn prefetch(&mut self) -> Prefetch {
        let mut settings = Prefetch::default();
        let owner = Distribution::Prefetch(settings);
        settings.max_slice = self.percentage("max_slice", owner).unwrap_or(settings.max_slice);
        settings
    }

    fn percentage(&mut self, key: &'static str, owner: Distribution) -> Option<Percentage> {
        let expected = "a percentage from 0.01% to 100%, such as \"5%\"";
        let parse = |text: &str| text.parse().ok().filter(|part| *part != NOTHING);
        self.take(key, owner)?.parsed(self.diagnostics, expected, parse)
    }

    /// Returns the value of a key, and adds an error if the policy chooses another distribution than the
    /// key's owner. A policy that says `strict` may keep the settings of the others.
    fn take(&mut self, key: &'static str, owner: Distribution) -> Option<Value<'a>> {
        let value = self.table.take(key)?;
        let misplaced = match self.chosen {
            None => Some(String::from("without distribution")),
            Some(Distribution::Strict) => None,
            Some(chosen) if chosen.name() == owner.name() => None,
            Some(chosen) => Some(format!("with distribution = \"{chosen}\"")),
        };
        if let Some(place) = misplaced {
            value.error(self.diagnostics, || {
                format!("is given {place}; expected distribution = \"{owner}\"")
            });
        }
        Some(value)
    }
}
