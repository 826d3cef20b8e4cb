//! `x-ratelimit-*`: the same names everywhere, and two meanings of reset.

use crate::fields::Fields;
use crate::told::Told;

const SECOND: u64 = 1_000_000;

pub(crate) fn epoch(told: &Told<'_>, fields: &mut Fields<'_>) {
    let at = told.now().as_micros().saturating_add(told.reset().as_micros());
    all(told, fields, at.div_ceil(SECOND));
}

pub(crate) fn delta(told: &Told<'_>, fields: &mut Fields<'_>) {
    all(told, fields, told.reset_seconds());
}

fn all(told: &Told<'_>, fields: &mut Fields<'_>, reset: u64) {
    let Some(bound) = told.bound() else { return };
    fields.number("x-ratelimit-limit", bound.limit);
    fields.number("x-ratelimit-remaining", bound.remaining);
    fields.number("x-ratelimit-used", bound.used());
    fields.text("x-ratelimit-resource", told.policy_name());
    fields.number("x-ratelimit-reset", reset);
}
