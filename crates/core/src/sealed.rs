//! Keeps others from implementing the traits that only add methods to types of this crate.

use crate::limit::Limit;
use crate::operation::Op;

/// Implemented only here.
pub trait Sealed {}

impl Sealed for Limit {}
impl Sealed for Op<'_> {}
