//! What the states of a policy count in.

use std::sync::Arc;

use super::quota::{self, Quota, QuotaRef};
use crate::memory::shares::{ShareNumber, Shares};

/// The quota of a policy, if it has one, and its share of the memory for slots, leases and open reservations.
///
/// A state that keeps any of these knows both, since a sweep finds it without its policy.
#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) quota: QuotaRef,
    pub(crate) share: ShareNumber,
}

impl Account {
    /// That of a state whose policy is not known until an operation finds it, as after a restart.
    pub(crate) const UNKNOWN: Account = Account { quota: None, share: Shares::NONE };

    pub(crate) fn quota(&self) -> Option<&Arc<Quota>> {
        self.quota.as_ref()
    }

    /// Returns whether both are the same.
    pub(crate) fn is_same(&self, other: &Account) -> bool {
        self.share == other.share && quota::is_same(self.quota(), other.quota())
    }
}
