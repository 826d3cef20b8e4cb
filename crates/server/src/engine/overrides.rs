//! Limits that are others for some keys.

use std::borrow::Cow;
use std::collections::HashMap;

use tollgate_core::{Limit, Name, Request};

use crate::config::Override;

/// What replaces each limit of a policy, by the key it counts. Empty if nothing is replaced.
#[derive(Debug, Default)]
pub(super) struct Overrides(Box<[HashMap<Box<[u8]>, Limit>]>);

impl Overrides {
    /// Creates the overrides of this number of limits. `replace` returns what an override replaces, with the
    /// position of each limit.
    pub(super) fn new(
        limits: usize,
        overrides: &[Override],
        replace: impl Fn(&Override) -> Vec<(usize, Limit)>,
    ) -> Overrides {
        let mut all = vec![HashMap::new(); limits];
        for one in overrides {
            for (position, limit) in replace(one) {
                all.get_mut(position).map(|by_key| by_key.insert(one.key.clone(), limit));
            }
        }
        if all.iter().all(HashMap::is_empty) {
            return Overrides::default();
        }
        Overrides(all.into_boxed_slice())
    }

    /// Returns the limits for the keys of a request. Only limits that count a key itself are replaced for it: a
    /// limit that others share must not become wider for them.
    pub(super) fn apply<'l>(
        &'l self,
        limits: &'l [Limit],
        request: &Request<'_>,
    ) -> Cow<'l, [Limit]> {
        let own = |(limit, by_key): (&Limit, &'l HashMap<Box<[u8]>, Limit>)| {
            by_key.get(request.key_of(limit.per().map(Name::as_str))?)
        };
        if !limits.iter().zip(&self.0).any(|pair| own(pair).is_some()) {
            return Cow::Borrowed(limits);
        }
        let replaced = limits.iter().zip(&self.0).map(|pair| own(pair).unwrap_or(pair.0).clone());
        Cow::Owned(replaced.collect())
    }
}
