//! Requests of more than one key: with an id, with several subjects, and with the release of a lease.

use tollgate::Limiter;

use crate::in_process::system::System;

/// Checks one key under ids.
pub(super) struct Ids(pub(super) Limiter);

impl System for Ids {
    /// Takes the key as the id.
    fn check(&self, id: &String) -> bool {
        let decision = self.0.key("user:000000000000042").id(id).check();
        let decision = decision.expect("a check does not fail");
        decision.allowed && !decision.not_remembered
    }
}

/// Checks an address, a user and all in one call.
pub(super) struct Subjects(pub(super) Limiter);

impl System for Subjects {
    fn check(&self, key: &String) -> bool {
        let request = self.0.subject("ip", "203.0.113.9").subject("user", key);
        request.check().expect("a check does not fail").allowed
    }
}

/// Takes a lease under an id, and gives it back.
pub(super) struct Leases(pub(super) Limiter);

impl System for Leases {
    /// Takes the key as the id, too.
    fn check(&self, key: &String) -> bool {
        let check = self.0.key(key).id(key).check().expect("a check does not fail");
        let release = self.0.key(key).id(key).release().expect("a release does not fail");
        check.allowed && release.allowed
    }
}
