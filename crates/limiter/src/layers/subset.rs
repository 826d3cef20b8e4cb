//! Some of the operations of a call: those that a layer does not answer itself, or asks again.

use tollgate_core::{Decision, Op, StoreError};

/// Returns the operations at these indexes.
pub(super) fn pick<'a>(ops: &[Op<'a>], indexes: impl Iterator<Item = usize>) -> Vec<Op<'a>> {
    indexes.filter_map(|index| ops.get(index).copied()).collect()
}

/// Returns a place for the result of each of these operations.
pub(super) fn unanswered(ops: &[Op<'_>]) -> Vec<Result<Decision, StoreError>> {
    vec![Err(StoreError::unanswered()); ops.len()]
}

/// Puts the results of the operations at these indexes where they belong.
pub(super) fn put_back(
    indexes: impl Iterator<Item = usize>,
    results: Vec<Result<Decision, StoreError>>,
    out: &mut [Result<Decision, StoreError>],
) {
    for (index, result) in indexes.zip(results) {
        if let Some(out) = out.get_mut(index) {
            *out = result;
        }
    }
}
